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

/// A packing in the GPU's memory.
struct DevicePacking {
  const PackedElement* elements;
  std::uint64_t codes;
  std::uint64_t words;
  std::uint64_t per_word;
};

__global__ void pack_words(DevicePacking packing, const Code* codes, std::uint64_t count,
                           std::uint32_t* words) {
  const std::uint64_t i = thread_number();
  if (i >= count) return;
  const Code* instance = codes + i / packing.words * packing.codes;
  const PackedElement* element = packing.elements + i % packing.words * packing.per_word;
  std::uint32_t word = 0;
  for (std::uint64_t e = 0; e < packing.per_word; ++e)
    word |= element[e].placed(instance[element[e].code]);
  words[i] = word;
}

/// Where one of D's codes stands: in that word, and if it is wider in the next one too.
struct UnpackedCode {
  std::uint32_t word;
  PackedElement element;
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
  Code mask;
  std::uint64_t first_output;         ///< counted from the slice's first tile
  std::uint64_t first_output_of_all;  ///< counted from tile 0
};

__device__ Code returned_code(const Judged& judged, std::uint64_t i) {
  const UnpackedCode place = judged.places[i % judged.codes];
  const std::uint32_t* word = judged.d_words + i / judged.codes * judged.words + place.word;
  const Code code = place.element.taken(*word, judged.mask);
  const bool is_wide = judged.mask > std::numeric_limits<std::uint32_t>::max();
  return is_wide ? code | Code{word[1]} << 32 : code;
}

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
  const Code returned = returned_code(judged, i);
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
      : DeviceOperand(operand_packing(row, a_source, operand), instances) {}

  DeviceOperand(const Packing& packing, std::uint64_t instances)
      : elements_(packing.elements),
        packing_{elements_.get(), packing.codes, packing.words, packing.per_word()},
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
  DevicePacking packing_;
  DeviceArray<Code> codes_;
  DeviceArray<std::uint32_t> words_;
};

std::vector<UnpackedCode> unpacked_codes(const Packing& packing) {
  std::vector<UnpackedCode> places(packing.codes);
  for (std::size_t i = packing.elements.size(); i-- > 0;)  // the first part of each code stays
    places[packing.elements[i].code] = {static_cast<std::uint32_t>(i / packing.per_word()),
                                        packing.elements[i]};
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
        d_packing_(operand_packing(execution.instruction, slice.a_source, Operand::d)),
        d_words_(instances * d_packing_.words),
        places_(unpacked_codes(d_packing_)),
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
    const Judged judged{
        a_.codes(),
        b_.codes(),
        c_.codes(),
        d_words_.get(),
        places_.get(),
        places_.size(),
        d_packing_.words,
        d_packing_.mask,
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
  Packing d_packing_;
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
