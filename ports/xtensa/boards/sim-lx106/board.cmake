# QEMU's board "sim" with an LX106.
set(HEED_CORE lx106)
set(HEED_QEMU_MACHINE sim)
set(HEED_QEMU_MHZ 40)
