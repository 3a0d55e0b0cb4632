// Files that are there whole or not at all: signals, links, devices, inputs. SPDX-License-Identifier: MIT
#include "../ports/output_file.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#ifndef _WIN32
#include <sys/stat.h>
#include <sys/wait.h>
#endif

namespace {

// A shell starts what it runs in the background with this signal ignored.
[[maybe_unused]] const auto interrupts_work = std::signal(SIGINT, SIG_DFL);

namespace fs = std::filesystem;

class output_file : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("heed_output_" + std::to_string(std::random_device{}()));
    fs::create_directory(folder_);
    path_ = (folder_ / "file").string();
    std::ofstream(path_) << "before";
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string read() const {
    std::ifstream in(path_);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  size_t n_files() const { return size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator())); }

  fs::path folder_;
  std::string path_;
};

TEST_F(output_file, takes_its_place_when_it_is_whole) {
  {
    files::output_file out(path_);
    out.write(std::string(100000, 'x'));
    EXPECT_EQ(read(), "before");
    EXPECT_EQ(n_files(), 2u);
  }
  EXPECT_EQ(read(), "before");
  EXPECT_EQ(n_files(), 1u);
  files::output_file out(path_);
  out.write("after");
  out.finish();
  EXPECT_EQ(read(), "after");
  EXPECT_EQ(n_files(), 1u);
}

TEST_F(output_file, is_none_of_its_inputs) {
  fs::create_hard_link(path_, folder_ / "same");
  EXPECT_THROW(files::output_file(path_, {(folder_ / "same").string()}), std::runtime_error);
  EXPECT_EQ(read(), "before");
}

#ifndef _WIN32
TEST_F(output_file, of_an_interrupted_program_leaves_nothing) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    const pid_t child = fork();
    if (child == 0) {
      files::output_file out(path_);
      out.write(std::string(100000, 'x'));
      raise(signal);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << signal;
    EXPECT_EQ(read(), "before") << signal;
    EXPECT_EQ(n_files(), 1u) << signal;
  }
}

// As after nohup.
TEST_F(output_file, goes_on_where_a_signal_is_ignored) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGHUP, SIG_IGN);
    files::output_file out(path_);
    out.write("after");
    raise(SIGHUP);
    out.finish();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read(), "after");
}

TEST_F(output_file, keeps_links_and_permissions) {
  fs::create_symlink(path_, folder_ / "link");
  chmod(path_.c_str(), 0640);
  files::output_file out((folder_ / "link").string());
  out.write("after");
  out.finish();
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read(), "after");
  struct stat found;
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0640u);
}

TEST_F(output_file, says_that_a_device_is_full) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  fs::create_symlink("/dev/full", folder_ / "full");
  files::output_file out((folder_ / "full").string());
  EXPECT_THROW((out.write(std::string(100000, 'x')), out.finish()), std::runtime_error);
  EXPECT_TRUE(fs::is_character_file(folder_ / "full"));
}
#endif

}  // namespace
