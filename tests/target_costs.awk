# Lines of tests/device/*_costs.c on standard input, as lines of ports/compile/target_costs.inc: for each call the instructions that
# each of its counts takes, none below 0, with the least sum of squares of relative errors. -v show=1 prints the greatest error of each.
# SPDX-License-Identifier: MIT
/:/ && !/^costs/ {
  name = $1 " " $2
  if (!(name in n_lines)) order[++n_names] = name
  l = ++n_lines[name]
  n_counts[name] = NF - 3
  instructions = $NF
  for (i = 3; i < NF; i++) share[name, l, i - 2] = $i / instructions # a term of a sum that should be 1
}
END {
  for (k = 1; k <= n_names; k++) fit(order[k])
}
function fit(name,  n, m, i, j, l, round, way, most, sum, text) {
  n = n_counts[name]; m = n_lines[name]
  for (i = 1; i <= n; i++) {
    b[i] = cost[i] = 0
    for (l = 1; l <= m; l++) b[i] += share[name, l, i]
    for (j = 1; j <= n; j++) {
      a[i, j] = 0
      for (l = 1; l <= m; l++) a[i, j] += share[name, l, i] * share[name, l, j]
    }
  }
  for (round = 0; round < 4000; round++) # one cost after the other: Gauss and Seidel
    for (i = 1; i <= n; i++) {
      way = b[i]
      for (j = 1; j <= n; j++) way -= a[i, j] * cost[j]
      if (a[i, i] > 0) cost[i] += way / a[i, i] # else no line has this count
      if (cost[i] < 0) cost[i] = 0
    }
  most = 0
  for (l = 1; l <= m; l++) {
    sum = -1
    for (i = 1; i <= n; i++) sum += share[name, l, i] * cost[i]
    if (sum < 0) sum = -sum
    if (sum > most) most = sum
  }
  text = "{\"" core "\", \"" name "\", {"
  for (i = 1; i <= n; i++) text = text (i > 1 ? ", " : "") sprintf("%.4g", cost[i] < 1e-6 ? 0 : cost[i])
  if (show) printf "%5.1f %%  ", 100 * most
  print text "}},"
}
