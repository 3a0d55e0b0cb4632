# Arm MPS3 with Cortex-M55 and Helium.
set(HEED_CORE m55)
set(HEED_QEMU_MACHINE mps3-an547)
set(HEED_QEMU_MHZ 32)
