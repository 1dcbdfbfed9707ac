#include <doctest/doctest.h>

#include "bitmma/isa/matrix_descriptor.hpp"
#include "bitmma/kernels/operand_layout.hpp"

using namespace bitmma;

TEST_CASE("the tiles that the kernels fill are the dense K-major layout without swizzle") {
  for (Instruction row : instruction_table) {
    if (row.family != Family::wgmma) continue;
    for (row.n = 8; row.n <= 256; row.n += 8)
      for (const Operand operand : {Operand::a, Operand::b}) {
        const SharedTile tile = shared_tile(row, operand, Major::k);
        const MatrixDescriptor dense = dense_descriptor(tile, swizzle_table[0], 0);
        const Layout layout = operand_layout(row, ASource::shared_memory, operand);
        bool same = true;
        for (int index = 0; index < layout.elements(); ++index) {
          const Coordinates cell = coordinates(layout, 0, index);
          const int outer = operand == Operand::a ? cell.row : cell.column;
          const int k = operand == Operand::a ? cell.column : cell.row;
          same = same && element_address(dense, tile, outer, k) == index * tile.element_bytes;
        }
        CHECK(same);
      }
  }
}
