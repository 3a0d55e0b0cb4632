// Names of strangers in C and on terminals; files that are whole or not there. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <csignal>

#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "../ports/names.hpp"
#include "../ports/output_file.hpp"
#include "c_arrays.hpp"
#include "support/import_files.hpp"

namespace {

// A shell starts what it runs in the background with this signal ignored.
[[maybe_unused]] const auto interrupts_work = std::signal(SIGINT, SIG_DFL);

using namespace import_files;

TEST(names, are_identifiers) {
  EXPECT_EQ(names::identifier("layers.0.wq"), "layers_0_wq");
  EXPECT_EQ(names::identifier("onnx::MatMul_1"), "onnx_MatMul_1");  // two underscores are the compiler's
  EXPECT_EQ(names::identifier("0.w"), "t_0_w");
  EXPECT_EQ(names::identifier("_Bool"), "t_Bool");
  EXPECT_EQ(names::identifier("__init__"), "t_init");
  EXPECT_EQ(names::identifier(""), "t");
  EXPECT_EQ(names::identifier("*/ int x; /*"), "t_int_x");
  for (const char *const taken :
       {"int", "class", "printf", "exp", "unix", "NULL", "errno", "atomic_int", "heed", "heed_linear", "HEED_F32"}) {
    EXPECT_EQ(names::identifier(taken), std::string("t_") + taken);
  }
  for (const char *const taken : {"size_t", "INT8_MAX", "UINT32_C"})
    EXPECT_EQ(names::identifier(taken), std::string(taken) + "_v");
  EXPECT_EQ(names::identifier("caf\xc3\xa9"), "caf");
}

// Whatever bytes a name has.
TEST(names, are_identifiers_for_all_bytes) {
  heed_test::random_source r(1);
  for (int i = 0; i < heed_test::repetitions(20000); ++i) {
    std::string name;
    for (int k = r.between(0, 8); k > 0; --k)
      name += char(r.chance(50) ? r.between(0, 255) : "_ab0.int*/"[r.between(0, 9)]);
    const std::string id = names::identifier(name), safe = names::for_c(name), shown = names::for_terminal(name);
    ASSERT_FALSE(id.empty());
    ASSERT_TRUE((id[0] >= 'a' && id[0] <= 'z') || (id[0] >= 'A' && id[0] <= 'Z')) << id;
    for (const char c : id) ASSERT_TRUE(std::isalnum(static_cast<unsigned char>(c)) || c == '_') << id;
    ASSERT_NE(id.back(), '_') << id;
    ASSERT_EQ(id.find("__"), std::string::npos) << id;
    ASSERT_FALSE(names::is_taken_word(id)) << id;
    for (const std::string &text : {safe, shown}) {
      for (const char c : text) ASSERT_TRUE(c >= ' ' && c <= '~');
    }
    for (const char *const ends : {"*/", "/*", "??"}) ASSERT_EQ(safe.find(ends), std::string::npos) << safe;
    // What C makes of it between quotes.
    std::string read;
    for (size_t at = 0; at < safe.size(); ++at) {
      ASSERT_NE(safe[at], '"');
      if (safe[at] == '\\' && safe[at + 1] >= '0' && safe[at + 1] <= '7') {
        read += char(std::stoi(safe.substr(at + 1, 3), nullptr, 8));
        at += 3;
      } else {
        at += safe[at] == '\\';
        read += safe[at];
      }
    }
    ASSERT_EQ(read, name);
  }
}

TEST(names, are_unique_with_their_ends) {
  names::identifiers all;
  const auto take = [&](const char *name) { return all.take("m", name, {"_scales", "_weights"}); };
  EXPECT_EQ(take("a.b"), "m_a_b");
  EXPECT_EQ(take("a_b"), "m_a_b_2");
  EXPECT_EQ(take("a:b"), "m_a_b_3");
  EXPECT_EQ(take("a_b_2"), "m_a_b_2_2");
  EXPECT_EQ(take("0"), "m_0");
  EXPECT_EQ(take("int"), "m_int");
  EXPECT_EQ(take("w"), "m_w");
  EXPECT_EQ(take("w_scales"), "m_w_scales_2");
  EXPECT_EQ(take("v_scales"), "m_v_scales");
  EXPECT_EQ(take("v"), "m_v_2");
  EXPECT_EQ(names::identifiers().take("aligned", "alloc"), "t_aligned_alloc");
  for (int i = 0; i < 100000; ++i) all.take("m", "same");  // ends soon
  EXPECT_EQ(take("same"), "m_same_100001");
  all.reserve("m_H");
  EXPECT_EQ(take("H"), "m_H_2");
}

class output : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "heed_output_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/out";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void put(const std::string &content) const { files::write_whole(path_, content.data(), content.size()); }
  std::string content() const {
    const bytes b = read_file(path_);
    return std::string(b.begin(), b.end());
  }
  size_t n_files() const { return size_t(std::distance(std::filesystem::directory_iterator(folder_), {})); }
  template <typename F>
  static std::string error_of(F f) {
    try {
      f();
      return "";
    } catch (const std::runtime_error &error) {
      return error.what();
    }
  }
  std::string folder_, path_;
};

TEST_F(output, is_whole_or_as_it_was) {
  put("old");
  {
    files::output_file out(path_);
    out.write("new");
    EXPECT_EQ(content(), "old");
  }  // not finished
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(n_files(), 1u);
  EXPECT_EQ(error_of([&] {
              files::output_file out(path_);
              out.write("new");
              out.finish([](const std::string &) { throw std::runtime_error("differs"); });
            }),
            "differs");
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(n_files(), 1u);
  put("new");
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(n_files(), 1u);
}

TEST_F(output, is_no_input) {
  put("old");
  const std::string other = folder_ + "/hard", soft = folder_ + "/soft";
  std::filesystem::create_hard_link(path_, other);
  std::filesystem::create_symlink(path_, soft);
  for (const std::string &input : {path_, other, soft, folder_ + "/./out"}) {
    EXPECT_EQ(error_of([&] {
                files::output_file out(path_, {"none", input});
              }),
              path_ + ": is an input, too: name another file");
  }
  EXPECT_EQ(content(), "old");
}

TEST_F(output, keeps_links_and_permissions) {
  put("old");
  chmod(path_.c_str(), 0640);
  const std::string soft = folder_ + "/soft";
  std::filesystem::create_symlink(path_, soft);
  files::write_whole(soft, "new", 3);
  EXPECT_EQ(content(), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(soft));
  struct stat s;
  ASSERT_EQ(stat(path_.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777u, 0640u);
}

// A limit on the size of files does what a full disk does.
TEST_F(output, is_removed_when_the_disk_is_full) {
  put("old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const bytes large(100000);
  const std::string at_once = error_of([&] { files::write_whole(path_, large.data(), large.size()); });
  const std::string at_the_end = error_of([&] { files::write_whole(path_, large.data(), 2000); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(at_once, path_ + ": cannot be written");
  EXPECT_EQ(at_the_end, path_ + ": cannot be written");
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(n_files(), 1u);
  EXPECT_EQ(error_of([&] { files::write_whole(folder_ + "/none/out", "x", 1); }),
            folder_ + "/none/out: cannot be written");
  EXPECT_EQ(error_of([&] { files::write_whole(folder_, "x", 1); }), folder_ + ": cannot be written");
}

TEST_F(output, is_removed_by_an_interrupt) {
  put("old");
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto interrupted = [&] {
      files::output_file first(path_), second(folder_ + "/second");
      first.write("new");
      std::raise(signal);
    };
    EXPECT_EXIT(interrupted(), testing::KilledBySignal(signal), "");
    EXPECT_EQ(content(), "old");
    EXPECT_EQ(n_files(), 1u);
  }
}

}  // namespace
