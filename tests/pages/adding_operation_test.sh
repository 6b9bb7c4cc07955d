#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The operation of graphs that docs/examples/graph-operation.md adds: its pieces, put where the page says into a copy of graph/, compile
# without a warning, and the operation is inferred, lowered and computed by the reference.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
case $build in *address* | *thread* | *coverage*) echo 'what is linked here has no instrumentation'; exit 77 ;; esac
[ -e "$build/libpto.a" ] || { echo "there is no $build/libpto.a"; exit 77; }
. tests/support/holds.sh
. tests/support/page_pieces.sh
cc=${CC:-cc}

mkdir -p "$work/include" "$work/objects"
cp -r graph "$work/graph"
cp -r include/pto "$work/include/pto"

take_pieces docs/examples/graph-operation.md 'An operation of graphs'

compile() { # FILE.c
  $cc -std=c17 -D_GNU_SOURCE -O0 -Wall -Wextra -Werror -Wno-unused-parameter -I"$work" -I"$work/include" -I. -c "$1" -o "$work/objects/$(tr / - <<<"${1#"$work/"}").o"
}
compile_all() {
  local file
  for file in "$work"/graph/*/*.c "$work/use.c"; do
    case $file in *_test.c) ;; *) compile "$file" || return 1 ;; esac
  done
}
link_all() {
  local libraries
  libraries=$(readelf -d "$build/libpto.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/-l:\1/p')
  # shellcheck disable=SC2086
  $cc -pthread -o "$work/use" "$work"/objects/*.o "$build/libptotools.a" "$build/libpto.a" $libraries -lm
}

cat >"$work/use.c" <<'END'
#include <graph/reference/reference.h>
#include <stdio.h>
int main(void) {
  const struct pto_graph_desc matrix = {PTO_FLOAT32, 2, {2, 3}}, row = {PTO_FLOAT32, 1, {3}}, other = {PTO_FLOAT32, 1, {4}};
  float x[6] = {1, 2, 3, 4, 5, 6}, y[3] = {3, 2, 1}, z[4] = {0}, got[6], expected[6];
  const void *inputs[] = {x, y, z};
  void *outputs[] = {expected};
  struct pto_graph_builder *b;
  struct pto_graph *graph;
  struct pto_context *context;
  struct pto_error error;
  if (pto_graph_builder_create(NULL, &b)) return 1;
  const struct pto_graph_operand a = pto_graph_builder_input(b, "x", &matrix), c = pto_graph_builder_input(b, "y", &row);
  const struct pto_graph_operand refused = pto_graph_builder_input(b, "z", &other);
  pto_graph_builder_squared_difference(b, a, refused, NULL);
  puts(pto_graph_builder_error(b));
  pto_graph_builder_clear_error(b);
  const struct pto_graph_output output = {"d", pto_graph_builder_squared_difference(b, a, c, NULL)};
  if (pto_graph_builder_build(b, &output, 1, &graph)) return puts(pto_graph_builder_error(b)), 1;
  pto_graph_builder_destroy(b);
  if (pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, &error)) return puts(error.sentence), 1;
  const struct pto_context_options options = {.size = sizeof options, .runtime = {.engine = "virtual", .chip = "tiny"}};
  if (pto_context_create(&options, &context, NULL, 0)) return 1;
  const struct pto_host_array in[] = {{"x", x, sizeof x}, {"y", y, sizeof y}, {"z", z, sizeof z}}, out = {"d", got, sizeof got};
  if (pto_graph_compute(graph, context, &(struct pto_compute_arrays){in, &out, 3, 1})) return puts(pto_context_error(context)), 1;
  for (int i = 0; i < 6; i++) printf("%g %g%s", (double)got[i], (double)expected[i], i < 5 ? ", " : "\n");
  pto_graph_destroy(graph);
  pto_context_destroy(context);
  return 0;
}
END
says() { "$work/use" >"$work/said" 2>&1; grep -qF "$1" "$work/said" || { cat "$work/said"; return 1; }; }

holds 'docs/examples/graph-operation.md has five pieces' has_pieces 5
holds 'each has its place' put_pieces
holds 'they compile without a warning' compile_all
holds 'nothing of the operation is missing' link_all
holds 'shapes that cannot be broadcast are refused with a sentence' says 'squaredDifference: a of shape [2, 3] and b of shape [4] cannot be broadcast'
holds 'the chip and the reference compute it' says '4 4, 0 0, 4 4, 1 1, 9 9, 25 25'
holds_total
