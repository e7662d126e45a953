// PageFile::check_structure: all that LMDB relies on when it follows and changes the pages of a file.
#include <fmt/format.h>

#include <vector>

#include "storage/page.hpp"

namespace hone::storage {

using layout::get;

class PageFile::StructureCheck {
 public:
  StructureCheck(const PageFile& file, const Snapshot& snapshot, const std::function<void(std::uint64_t)>& progress)
      : file_(file), snapshot_(snapshot), progress_(progress), seen_(snapshot.last_page + 1, false) {}

  void run() {
    walk_free(snapshot_.free);
    std::vector<Tree> named;
    walk(snapshot_.main, {}, {}, [&named](const Page::Node& node) {
      if (!(node.flags & layout::sub_data)) return;
      if (node.size != layout::tree_size) throw DamagedPage("the description of a tree has the wrong size");
      const std::byte* bytes = node.inline_value.data();
      named.push_back({get<std::uint64_t>(bytes + layout::tree_root), get<std::uint64_t>(bytes + layout::tree_entries),
                       get<std::uint16_t>(bytes + layout::tree_depth)});
      // hone makes plain trees only; flags of other kinds would make LMDB read entries in another way.
      if (get<std::uint16_t>(bytes + layout::tree_flags) != 0) {
        throw DamagedPage("the description of a tree has unknown flags");
      }
    });
    for (const Tree& tree : named) walk(tree, {}, {}, {});
  }

 private:
  using Inspect = std::function<void(const Page::Node&)>;

  void mark(std::uint64_t page) {
    if (page < 2 || page > snapshot_.last_page) throw DamagedPage(fmt::format("page {} does not exist", page));
    if (seen_[page]) throw DamagedPage(fmt::format("page {} is used twice", page));
    seen_[page] = true;
    if (progress_ && ++done_ % 256 == 0) progress_(done_);
  }

  void walk(const Tree& tree, ByteView low, ByteView high, const Inspect& inspect) {
    if (tree.root == Tree::empty) {
      if (tree.depth != 0 || tree.entries != 0) throw DamagedPage("an empty tree says that it has entries");
      return;
    }
    if (tree.depth < 1 || tree.depth > layout::max_depth) throw DamagedPage("a tree has an impossible depth");
    entries_ = 0;
    walk_page(tree.root, tree.depth, low, high, inspect, false);
    if (entries_ != tree.entries) throw DamagedPage("a tree has another number of entries than it says");
  }

  // Keys must lie in [low, high); an empty `high` is no bound.
  void walk_page(std::uint64_t number, unsigned levels, ByteView low, ByteView high, const Inspect& inspect,
                 bool numbers) {
    mark(number);
    const Page page = file_.load(snapshot_, number, levels == 1);
    ByteView previous;
    for (std::size_t index = 0; index < page.count(); ++index) {
      const Page::Node node = page.node(index);
      const bool compared = page.leaf() || index > 0;
      if (compared) {
        check_order(number, node.key, index > (page.leaf() ? 0u : 1u) ? previous : low, index == 0 || previous.empty(),
                    numbers);
        if (!high.empty() && order(node.key, high, numbers) >= 0) fail(number, "has a key that belongs elsewhere");
        previous = node.key;
      }
      if (page.leaf()) {
        ++entries_;
        check_overflow(node);
        if (inspect) inspect(node);
      } else {
        const ByteView child_high = index + 1 < page.count() ? page.node(index + 1).key : high;
        walk_page(node.page, levels - 1, index == 0 ? low : node.key, child_high, inspect, numbers);
      }
    }
  }

  static int order(ByteView a, ByteView b, bool numbers) {
    if (!numbers) return compare_keys(a, b);
    const auto x = get<std::uint64_t>(a.data()), y = get<std::uint64_t>(b.data());
    return x < y ? -1 : x > y ? 1 : 0;
  }

  static void check_order(std::uint64_t page, ByteView key, ByteView before, bool may_equal, bool numbers) {
    if (key.empty()) fail(page, "has an empty key");
    if (numbers && key.size() != 8) fail(page, "has a key of the wrong size");
    if (before.empty()) return;
    const int result = order(before, key, numbers);
    if (result > 0 || (result == 0 && !may_equal)) fail(page, "has keys out of order");
  }

  [[noreturn]] static void fail(std::uint64_t page, const char* what) {
    throw DamagedPage(fmt::format("page {} {}", page, what));
  }

  void check_overflow(const Page::Node& node) {
    if (!(node.flags & layout::big_data)) return;
    const std::uint64_t pages = (layout::page_header - 1 + std::uint64_t{node.size}) / file_.page_size() + 1;
    std::byte head[layout::page_header];
    if (node.page < 2 || node.page > snapshot_.last_page) fail(node.page, "does not exist");
    file_.read(node.page, head, sizeof head);
    if (get<std::uint64_t>(head) != node.page ||
        get<std::uint16_t>(head + layout::flags_offset) != layout::overflow_page ||
        get<std::uint32_t>(head + layout::pages_offset) != pages) {
      fail(node.page, "is not the overflow page that it should be");
    }
    for (std::uint64_t i = 0; i < pages; ++i) mark(node.page + i);
  }

  // The free tree: transaction number -> count and that many page numbers, descending.
  void walk_free(const Tree& tree) {
    if (tree.root == Tree::empty) return;
    if (tree.depth < 1 || tree.depth > layout::max_depth) throw DamagedPage("the free tree has an impossible depth");
    entries_ = 0;
    walk_page(
        tree.root, tree.depth, {}, {}, [this](const Page::Node& node) { check_free_list(node); }, true);
    if (entries_ != tree.entries) throw DamagedPage("the free tree has another number of entries than it says");
  }

  void check_free_list(const Page::Node& node) {
    const Bytes outside = node.flags & layout::big_data ? file_.overflow(snapshot_, node.page, node.size) : Bytes();
    const ByteView value = node.flags & layout::big_data ? ByteView(outside) : node.inline_value;
    const std::uint64_t count = value.size() < 8 ? ~std::uint64_t{0} : get<std::uint64_t>(value.data());
    if (count > value.size() / 8 || 8 * (count + 1) > value.size())
      throw DamagedPage("a list of free pages is cut off");
    std::uint64_t previous = ~std::uint64_t{0};
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto page = get<std::uint64_t>(value.data() + 8 * (i + 1));
      if (page >= previous) throw DamagedPage("a list of free pages is out of order");
      mark(page);
      previous = page;
    }
  }

  const PageFile& file_;
  const Snapshot& snapshot_;
  const std::function<void(std::uint64_t)>& progress_;
  std::vector<bool> seen_;
  std::uint64_t done_ = 0;
  std::uint64_t entries_ = 0;
};

void PageFile::check_structure(const Snapshot& snapshot, const std::function<void(std::uint64_t)>& progress) const {
  StructureCheck(*this, snapshot, progress).run();
}

}  // namespace hone::storage
