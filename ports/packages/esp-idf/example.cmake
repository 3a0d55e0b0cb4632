# idf.py set-target esp32c3 && idf.py flash monitor. SPDX-License-Identifier: MIT
cmake_minimum_required(VERSION 3.16)
include($ENV{IDF_PATH}/tools/cmake/project.cmake)
project(hello)
