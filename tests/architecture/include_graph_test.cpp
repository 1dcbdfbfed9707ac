/// The folder graph, as CMake declares it, against every #include.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
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

/// The folders of this project that a file includes headers of.
Folders included_folders(const std::filesystem::path& path) {
  Folders folders;
  std::ifstream file(path);
  const std::string prefix = "#include \"bitmma/";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(prefix))
      folders.insert(line.substr(prefix.size(), line.find('/', prefix.size()) - prefix.size()));
  return folders;
}

bool is_source(const std::filesystem::path& path) {
  return std::set<std::string>{".hpp", ".cpp", ".cu", ".cuh"}.contains(path.extension().string());
}

}  // namespace

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
      for (const std::string& included : included_folders(entry.path())) {
        INFO(entry.path().string(), " includes ", included);
        CHECK(allowed.contains(included));
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
  for (bool removed = true; removed;) {
    removed = false;
    for (auto node = graph.begin(); node != graph.end() && !removed; ++node) {
      if (!node->second.empty()) continue;
      const std::string leaf = node->first;
      graph.erase(node);
      for (auto& other : graph) other.second.erase(leaf);
      removed = true;
    }
  }
  CHECK(graph.empty());
}
