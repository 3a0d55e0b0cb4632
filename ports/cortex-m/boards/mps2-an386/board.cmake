# Arm MPS2 with Cortex-M4F.
set(HEED_CORE m4f)
set(HEED_QEMU_MACHINE mps2-an386)
set(HEED_QEMU_MHZ 25)
