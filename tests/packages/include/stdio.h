/* SPDX-License-Identifier: MIT */
int printf(const char *dtype, ...);
