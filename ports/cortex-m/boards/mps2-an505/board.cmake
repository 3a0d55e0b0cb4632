# Arm MPS2+ with Cortex-M33, in its secure state.
set(HEED_CORE m33)
set(HEED_QEMU_MACHINE mps2-an505)
set(HEED_QEMU_MHZ 20)
