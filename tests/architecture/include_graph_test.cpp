/// The folder graph, as CMake declares it, against every #include.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>

namespace {

using Folders = std::set<std::string>;

/// "compare:isa,reference/isa:" as folder → the folders that it depends on directly.
std::map<std::string, Folders> declared_graph() {
  std::map<std::string, Folders> graph;
  std::istringstream text(BITMMA_FOLDER_GRAPH);
  for (std::string entry; std::getline(text, entry, '/');) {
    const std::size_t colon = entry.find(':');
    Folders& edges = graph[entry.substr(0, colon)];
    std::istringstream names(entry.substr(colon + 1));
    for (std::string name; std::getline(names, name, ',');) edges.insert(name);
  }
  return graph;
}

/// Adds what a folder depends on, directly or not.
void add_reachable(const std::map<std::string, Folders>& graph, const std::string& folder,
                   Folders& reachable) {
  for (const std::string& next : graph.at(folder))
    if (reachable.insert(next).second) add_reachable(graph, next, reachable);
}

struct Include {
  bool bracketed;  ///< <…>, not "…"
  std::string path;
};

/// What the line includes, if it does.
std::optional<Include> include_of(std::string line) {
  std::erase_if(line, [](char c) { return c == ' ' || c == '\t'; });
  const std::string directive = "#include";
  if (!line.starts_with(directive)) return std::nullopt;
  const std::string operand = line.substr(directive.size());
  const bool bracketed = operand.starts_with('<');
  return Include{bracketed, operand.substr(1, operand.find(bracketed ? '>' : '"', 1) - 1)};
}

/// The folder of this project that an include names, empty if it names something else.
std::string included_folder(const Include& include) {
  const std::string prefix = "bitmma/";
  if (!include.path.starts_with(prefix)) return {};
  return include.path.substr(prefix.size(), include.path.find('/', prefix.size()) - prefix.size());
}

/// This project's headers are included by their folder, from the allowed ones; any others in <>.
bool is_allowed(const Include& include, const Folders& allowed) {
  const std::string folder = included_folder(include);
  return folder.empty() ? include.bracketed : allowed.contains(folder);
}

bool is_source(const std::filesystem::path& path) {
  return std::set<std::string>{".hpp", ".cpp", ".cu", ".cuh"}.contains(path.extension().string());
}

}  // namespace

TEST_CASE("an include is allowed by its folder, in quotes or not; a path of another kind is not") {
  const auto allowed = [](const std::string& line) {
    return is_allowed(include_of(line).value(), {"isa", "compare"});
  };
  CHECK(allowed("#include \"bitmma/isa/format.hpp\""));
  CHECK(allowed("#include <bitmma/compare/families.hpp>  // Random"));
  CHECK(allowed("#include <vector>"));
  CHECK_FALSE(allowed("#include \"bitmma/emulator/matrix.hpp\""));
  CHECK_FALSE(allowed("  #  include <bitmma/emulator/matrix.hpp>"));
  CHECK_FALSE(allowed("#include \"../emulator/matrix.hpp\""));
  CHECK_FALSE(allowed("#include \"matrix.hpp\""));
  CHECK_FALSE(allowed("#include MATRIX_HEADER"));
  CHECK_FALSE(include_of("// #include <bitmma/emulator/matrix.hpp>"));
}

TEST_CASE("no folder includes what the graph does not allow") {
  const std::filesystem::path root = BITMMA_SOURCE_DIR;
  const std::map<std::string, Folders> graph = declared_graph();
  int files = 0;
  for (const auto& [folder, direct] : graph) {
    Folders allowed{folder};
    add_reachable(graph, folder, allowed);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (!is_source(entry.path())) continue;
      ++files;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        INFO(entry.path().string(), ": ", line);
        if (const std::optional<Include> include = include_of(line))
          CHECK(is_allowed(*include, allowed));
      }
    }
  }
  CHECK(files > 20);
}

TEST_CASE("the folder graph has no cycle, and keeps emulator and reference apart") {
  std::map<std::string, Folders> graph = declared_graph();
  CHECK_FALSE(graph.at("reference").contains("emulator"));
  CHECK_FALSE(graph.at("emulator").contains("reference"));
  CHECK_FALSE(graph.at("compare").contains("emulator"));
  // Take away folders that depend on nothing, until none is left or the rest is a cycle.
  const auto is_leaf = [](const auto& node) { return node.second.empty(); };
  for (auto leaf = std::ranges::find_if(graph, is_leaf); leaf != graph.end();
       leaf = std::ranges::find_if(graph, is_leaf)) {
    const std::string name = leaf->first;
    graph.erase(leaf);
    for (auto& other : graph) other.second.erase(name);
  }
  CHECK(graph.empty());
}
