# Arm MPS2 with Cortex-M7.
set(HEED_CORE m7)
set(HEED_QEMU_MACHINE mps2-an500)
set(HEED_QEMU_MHZ 25)
