#include "import/archive.h"

#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <unistd.h>

#include "import/test_archive.h"

namespace palimpsest::importing {
namespace {

TEST(Archive, StoredRecordsLieInTheFile) {
  std::string path = WriteZip("stored.zip", {{"r/a", "alpha"}, {"r/b", ""}}, /*deflate=*/false);
  Result<Bytes> file = MapFile(path);
  ASSERT_TRUE(file.ok());
  Result<Archive> archive = Archive::Open(*file, path);
  ASSERT_TRUE(archive.ok()) << archive.error().message;
  EXPECT_EQ(archive->names(), (std::vector<std::string>{"r/a", "r/b"}));
  EXPECT_TRUE(archive->Has("r/a"));
  EXPECT_FALSE(archive->Has("a"));
  Result<Bytes> a = archive->Read("r/a");
  ASSERT_TRUE(a.ok()) << a.error().message;
  EXPECT_EQ(a->text(), "alpha");
  EXPECT_GE(a->data.data(), file->data.data());
  EXPECT_LT(a->data.data(), file->data.data() + file->data.size());
  ASSERT_TRUE(archive->Read("r/b").ok());
  EXPECT_EQ(archive->Read("r/b")->text(), "");
  Result<Bytes> missing = archive->Read("r/c");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, path + ": there is no record 'r/c'");
  unlink(path.c_str());
}

TEST(Archive, DeflatedRecordsAndArchivesInside) {
  std::string inner = WriteZip("inner.zip", {{"x", std::string(100000, 'x')}}, /*deflate=*/true);
  Result<Bytes> inner_file = MapFile(inner);
  ASSERT_TRUE(inner_file.ok());
  EXPECT_LT(inner_file->data.size(), 2000u);
  std::string outer =
      WriteZip("outer.zip", {{"in.zip", std::string(inner_file->text())}}, /*deflate=*/false);
  Result<Bytes> outer_file = MapFile(outer);
  ASSERT_TRUE(outer_file.ok());
  Result<Archive> archive = Archive::Open(*outer_file, outer);
  ASSERT_TRUE(archive.ok());
  Result<Bytes> record = archive->Read("in.zip");
  ASSERT_TRUE(record.ok());
  Result<Archive> nested = Archive::Open(*record, "in.zip");
  ASSERT_TRUE(nested.ok()) << nested.error().message;
  Result<Bytes> x = nested->Read("x");
  ASSERT_TRUE(x.ok()) << x.error().message;
  EXPECT_EQ(x->text(), std::string(100000, 'x'));
  unlink(inner.c_str());
  unlink(outer.c_str());
}

TEST(Archive, EveryCutAndEveryFlippedByteIsAnErrorOrHarmless) {
  std::string path = WriteZip("whole.zip", {{"r/a", "alpha"}, {"r/b", "beta beta beta beta"}},
                              /*deflate=*/true);
  std::string whole(MapFile(path)->text());
  unlink(path.c_str());
  auto read_all = [](const std::string& text) {
    Bytes bytes{{reinterpret_cast<const std::byte*>(text.data()), text.size()}, nullptr};
    Result<Archive> archive = Archive::Open(bytes, "z");
    if (!archive.ok()) return;
    for (const std::string& name : archive->names()) (void)archive->Read(name).ok();
  };
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string cut = whole.substr(0, size);
    cut.shrink_to_fit();
    read_all(cut);
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (char flip : {'\1', '\x80', '\xff'}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      read_all(changed);
    }
  }
}

TEST(Archive, ShownIsShortAndPrintable) {
  EXPECT_EQ(Shown("a\nb"), "a?b");
  EXPECT_EQ(Shown(std::string(81, 'x')), std::string(80, 'x') + "... (81 characters)");
}

TEST(Archive, MissingFiles) {
  EXPECT_FALSE(MapFile("/no/such/file").ok());
  EXPECT_FALSE(MapFile(testing::TempDir()).ok());
}

}  // namespace
}  // namespace palimpsest::importing
