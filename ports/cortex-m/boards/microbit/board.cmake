# BBC micro:bit. Its nRF51 has a Cortex-M0: the instructions of a Cortex-M0+, and the same faults.
set(HEED_CORE m0plus)
set(HEED_QEMU_MACHINE microbit)
set(HEED_QEMU_MHZ 16)
