#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "bitmma/kernels/device.hpp"
#include "bitmma/kernels/device_memory.hpp"
#include "bitmma/kernels/digest.hpp"
#include "bitmma/kernels/slice.hpp"

namespace bitmma {
namespace {

using device::check;
using device::DeviceArray;

constexpr int threads_a_block = 128;

/// Memory that one launch's operands may take, in codes of A, B and C.
constexpr std::uint64_t codes_at_a_time = std::uint64_t{1} << 27;

constexpr unsigned long long no_mismatch = std::numeric_limits<unsigned long long>::max();

__device__ std::uint64_t thread_number() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

__global__ void make_addends(TileCases cases, std::uint64_t first_tile, std::uint64_t count,
                             Code* c) {
  const std::uint64_t i = thread_number();
  if (i >= count) return;
  const auto elements = static_cast<std::uint64_t>(cases.elements());
  c[i] = fill_addend(cases, first_tile + i / elements, static_cast<int>(i % elements));
}

/// Runs after make_addends(), and replaces the matched elements of C.
__global__ void make_lines(TileCases cases, std::uint64_t first_tile, std::uint64_t count, Code* a,
                           Code* b, Code* c) {
  const std::uint64_t i = thread_number();
  if (i >= count) return;
  const auto fillings = static_cast<std::uint64_t>(cases.fillings());
  const std::uint64_t tile = i / fillings;
  const auto line = static_cast<int>(i % fillings);
  const auto k = static_cast<std::uint64_t>(cases.k);
  const auto at = [&](std::uint64_t lines) {
    return (tile * lines + static_cast<std::uint64_t>(line)) * k;
  };
  Code unused[max_k];
  Code* a_line = line < cases.m ? a + at(static_cast<std::uint64_t>(cases.m)) : unused;
  Code* b_line = line < cases.n ? b + at(static_cast<std::uint64_t>(cases.n)) : unused;
  Code& c_element = c[tile * static_cast<std::uint64_t>(cases.elements()) +
                      static_cast<std::uint64_t>(cases.matched_element(line))];
  fill_line(cases, first_tile + tile, line, a_line, b_line, c_element);
}

/// An operand's elements in the order of its words, for one instruction.
struct Packing {
  const PackedElement* elements;
  std::uint64_t codes;
  std::uint64_t words;
};

__global__ void pack_words(Packing packing, const Code* codes, std::uint64_t count,
                           std::uint32_t* words) {
  const std::uint64_t i = thread_number();
  if (i >= count) return;
  const std::uint64_t per_word = packing.codes / packing.words;
  const Code* instance = codes + i / packing.words * packing.codes;
  const PackedElement* element = packing.elements + i % packing.words * per_word;
  std::uint32_t word = 0;
  for (std::uint64_t e = 0; e < per_word; ++e)
    word |= static_cast<std::uint32_t>(instance[element[e].code] << element[e].shift);
  words[i] = word;
}

/// Where D's codes stand: word and shift of each code of one instruction.
struct UnpackedCode {
  std::uint32_t word;
  std::uint32_t shift;
};

struct Judgement {
  unsigned long long mismatches;
  unsigned long long first;
  unsigned long long digest;
};

/// The sum over a block of threads, in thread 0.
__device__ unsigned long long block_sum(unsigned long long value) {
  constexpr unsigned all_lanes = 0xFFFFFFFF;
  constexpr int warp_size = 32;
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    value += __shfl_down_sync(all_lanes, value, distance);
  __shared__ unsigned long long sums[threads_a_block / warp_size];
  if (threadIdx.x % warp_size == 0) sums[threadIdx.x / warp_size] = value;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int warp = 1; warp < threads_a_block / warp_size; ++warp) value += sums[warp];
  return value;
}

struct Judged {
  const Code* a;
  const Code* b;
  const Code* c;
  const std::uint32_t* d_words;
  const UnpackedCode* places;
  std::uint64_t codes;  ///< of D in one instruction
  std::uint64_t words;
  std::uint32_t mask;
  std::uint64_t first_output;         ///< counted from the slice's first tile
  std::uint64_t first_output_of_all;  ///< counted from tile 0
};

/// Emulates output element i and compares it with what the instruction returned. The element's
/// share of the digest.
__device__ std::uint64_t judge_element(const ElementProgram& program, const TileCases& cases,
                                       const Judged& judged, std::uint64_t i,
                                       Judgement* judgement) {
  const auto m = static_cast<std::uint64_t>(cases.m);
  const auto n = static_cast<std::uint64_t>(cases.n);
  const auto k = static_cast<std::uint64_t>(cases.k);
  const std::uint64_t row = i / n;
  const std::uint64_t column = row / m * n + i % n;
  NoObserver observer;
  const Code emulated =
      run_element(program, judged.a + row * k, judged.b + column * k, judged.c[i], observer);
  const UnpackedCode place = judged.places[i % judged.codes];
  const std::uint32_t word = judged.d_words[i / judged.codes * judged.words + place.word];
  const Code returned = word >> place.shift & judged.mask;
  if (returned != emulated) {
    atomicAdd(&judgement->mismatches, 1ULL);
    atomicMin(&judgement->first, static_cast<unsigned long long>(judged.first_output + i));
  }
  return output_digest(judged.first_output_of_all + i, returned);
}

__global__ void judge(ElementProgram program, TileCases cases, Judged judged, std::uint64_t count,
                      Judgement* judgement) {
  const std::uint64_t i = thread_number();
  const std::uint64_t share = i < count ? judge_element(program, cases, judged, i, judgement) : 0;
  const unsigned long long sum = block_sum(share);
  if (threadIdx.x == 0) atomicAdd(&judgement->digest, sum);
}

unsigned blocks_of(std::uint64_t threads) {
  return static_cast<unsigned>((threads + threads_a_block - 1) / threads_a_block);
}

/// An operand of `instances` instructions: its codes, and the words they are packed into.
class DeviceOperand {
 public:
  DeviceOperand(const Instruction& row, ASource a_source, Operand operand, std::uint64_t instances)
      : elements_(packed_elements(row, a_source, operand)),
        packing_{elements_.get(), elements_.size(), operand_words(row, a_source, operand)},
        codes_(instances * packing_.codes),
        words_(instances * packing_.words) {}

  Code* codes() { return codes_.get(); }
  std::uint32_t* words() { return words_.get(); }
  void pack(std::uint64_t instances) {
    const std::uint64_t count = instances * packing_.words;
    pack_words<<<blocks_of(count), threads_a_block>>>(packing_, codes_.get(), count, words_.get());
    check(cudaGetLastError(), "launch of pack_words");
  }

 private:
  DeviceArray<PackedElement> elements_;
  Packing packing_;
  DeviceArray<Code> codes_;
  DeviceArray<std::uint32_t> words_;
};

std::vector<UnpackedCode> unpacked_codes(const Instruction& row, ASource a_source) {
  const std::vector<PackedElement> elements = packed_elements(row, a_source, Operand::d);
  const std::size_t per_word = elements.size() / operand_words(row, a_source, Operand::d);
  std::vector<UnpackedCode> places(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i)
    places[elements[i].code] = {static_cast<std::uint32_t>(i / per_word),
                                static_cast<std::uint32_t>(elements[i].shift)};
  return places;
}

/// The memory of a slice, used again for each of its parts.
class SliceRun {
 public:
  SliceRun(const Execution& execution, const Slice& slice, std::uint64_t instances)
      : execution_(execution),
        slice_(slice),
        cases_(tile_cases(execution.instruction, slice.family, slice.seed)),
        a_(execution.instruction, slice.a_source, Operand::a, instances),
        b_(execution.instruction, slice.a_source, Operand::b, instances),
        c_(execution.instruction, slice.a_source, Operand::c, instances),
        d_words_(instances * operand_words(execution.instruction, slice.a_source, Operand::d)),
        places_(unpacked_codes(execution.instruction, slice.a_source)),
        judgement_(std::vector<Judgement>{{0, no_mismatch, 0}}) {}

  /// Instructions first … first + count − 1 of the slice.
  void run(std::uint64_t first, std::uint64_t count) {
    const auto blocks = static_cast<std::uint64_t>(execution_.instruction.blocks());
    make_operands(slice_.first_tile + first * blocks, count * blocks);
    for (DeviceOperand* operand : {&a_, &b_, &c_}) operand->pack(count);
    run_instruction(count);
    compare(first * places_.size(), count * places_.size());
  }

  Judgement judgement() const { return judgement_.to_host().front(); }

 private:
  void make_operands(std::uint64_t first_tile, std::uint64_t tiles) {
    const std::uint64_t elements = tiles * static_cast<std::uint64_t>(cases_.elements());
    make_addends<<<blocks_of(elements), threads_a_block>>>(cases_, first_tile, elements,
                                                           c_.codes());
    check(cudaGetLastError(), "launch of make_addends");
    const std::uint64_t lines = tiles * static_cast<std::uint64_t>(cases_.fillings());
    make_lines<<<blocks_of(lines), threads_a_block>>>(cases_, first_tile, lines, a_.codes(),
                                                      b_.codes(), c_.codes());
    check(cudaGetLastError(), "launch of make_lines");
  }

  /// D starts as garbage, so that a word that is not written is a mismatch.
  void run_instruction(std::uint64_t count) {
    constexpr int garbage = 0xA5;
    check(cudaMemset(d_words_.get(), garbage, d_words_.size() * sizeof(std::uint32_t)),
          "cudaMemset");
    device::launch_instruction(execution_.instruction, slice_.a_source, count, a_.words(),
                               b_.words(), c_.words(), d_words_.get());
  }

  void compare(std::uint64_t first_output, std::uint64_t outputs) {
    const int bits = execution_.instruction.d->storage_bits;
    const Judged judged{
        a_.codes(),
        b_.codes(),
        c_.codes(),
        d_words_.get(),
        places_.get(),
        places_.size(),
        operand_words(execution_.instruction, slice_.a_source, Operand::d),
        ~std::uint32_t{0} >> (32 - bits),
        first_output,
        slice_.first_tile * static_cast<std::uint64_t>(cases_.elements()) + first_output};
    judge<<<blocks_of(outputs), threads_a_block>>>(execution_.program, cases_, judged, outputs,
                                                   judgement_.get());
    check(cudaGetLastError(), "launch of judge");
    check(cudaDeviceSynchronize(), "run of a slice");
  }

  Execution execution_;
  Slice slice_;
  TileCases cases_;
  DeviceOperand a_;
  DeviceOperand b_;
  DeviceOperand c_;
  DeviceArray<std::uint32_t> d_words_;
  DeviceArray<UnpackedCode> places_;
  DeviceArray<Judgement> judgement_;
};

}  // namespace

SliceResult run_slice(const Execution& execution, const Slice& slice) {
  const Instruction& row = execution.instruction;
  const auto blocks = static_cast<std::uint64_t>(row.blocks());
  const auto per_tile = static_cast<std::uint64_t>(row.m * row.k + row.k * row.n + row.m * row.n);
  const std::uint64_t instances = slice.tiles / blocks;
  const std::uint64_t part =
      std::min(instances, std::max<std::uint64_t>(1, codes_at_a_time / (per_tile * blocks)));
  if (instances == 0) return {};
  SliceRun run(execution, slice, part);
  for (std::uint64_t first = 0; first < instances; first += part)
    run.run(first, std::min(part, instances - first));

  const Judgement judgement = run.judgement();
  SliceResult result{slice.tiles * static_cast<std::uint64_t>(row.m * row.n), judgement.mismatches,
                     judgement.digest, std::nullopt};
  if (judgement.mismatches > 0) result.first_mismatch = judgement.first;
  return result;
}

}  // namespace bitmma
