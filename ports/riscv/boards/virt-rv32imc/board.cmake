# QEMU's board "virt".
set(HEED_CORE rv32imc)
set(HEED_QEMU_MACHINE virt)
set(HEED_QEMU_MHZ 10)
