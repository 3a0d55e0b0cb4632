/* A plugin of QEMU (interface of version 1): writes to standard error how many instructions a program executed.
 * Debian has no qemu-plugin.h, so what is used of it is declared here. SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
enum { add_to_word };
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation, void *word, uint64_t amount);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*finished)(plugin_id, void *), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);

int qemu_plugin_version = 1;
static uint64_t n_instructions;

static void translated(plugin_id id, struct qemu_plugin_tb *block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, add_to_word, &n_instructions, qemu_plugin_tb_n_insns(block));
}

static void finished(plugin_id id, void *data) {
  (void)id, (void)data;
  fprintf(stderr, "%llu\n", (unsigned long long)n_instructions);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
  (void)info, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, finished, NULL);
  return 0;
}
