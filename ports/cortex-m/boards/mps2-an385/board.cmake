# Arm MPS2 with Cortex-M3.
set(HEED_CORE m3)
set(HEED_QEMU_MACHINE mps2-an385)
set(HEED_QEMU_MHZ 25)
