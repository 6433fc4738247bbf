#include "hostile.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "hostile_case.h"
#include "json.h"

namespace cases {
namespace {

namespace fs = std::filesystem;
using namespace palimpsest;

constexpr int kSeconds = 60;  // for one file
constexpr int64_t kTensorBytes = int64_t{1} << 30;
[[maybe_unused]] constexpr rlim_t kAddressSpace = rlim_t{4} << 30;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

// A folder that goes away with its content.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "palimpsest_cases.XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs `tar`, without a shell.
bool Unpack(const std::string& archive, const std::string& folder) {
  pid_t child = fork();
  if (child == 0) {
    execlp("tar", "tar", "xf", archive.c_str(), "-C", folder.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

void Limit(int resource, rlim_t value) {
  rlimit limit = {value, value};
  setrlimit(resource, &limit);
}

// The child: tries the file and writes one letter and a reason into the pipe.
[[noreturn]] void TryInChild(const Json& c, const std::string& file, const std::string& folder,
                             const std::string& cwd, const Operators& ops, int pipe) {
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_CPU, kSeconds);
  if (!kSanitized) Limit(RLIMIT_AS, kAddressSpace);
  SetMemoryLimit(kTensorBytes);
  Outcome outcome = Outcome::Failed("cannot enter the folder");
  if (chdir(cwd.c_str()) == 0) outcome = JudgeHostileFile(c, file, folder, ops);
  std::string text(1, "PFS"[static_cast<int>(outcome.kind)]);
  text += outcome.reason.substr(0, 4000);
  bool written = write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(written ? 0 : 1);
}

// All that the child writes, or nothing after the time limit.
std::string ReadFrom(int pipe, bool& timed_out) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSeconds);
  std::string text;
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd wait = {pipe, POLLIN, 0};
    timed_out = left.count() <= 0 || poll(&wait, 1, static_cast<int>(left.count())) == 0;
    if (timed_out) return text;
    char buffer[4096];
    ssize_t n = read(pipe, buffer, sizeof buffer);
    if (n <= 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
}

Outcome Decode(const std::string& text, bool timed_out, int status) {
  if (timed_out) return Outcome::Failed("no end after " + std::to_string(kSeconds) + " s");
  if (WIFSIGNALED(status)) {
    return Outcome::Failed(std::string("crashes: ") + strsignal(WTERMSIG(status)));
  }
  if (text.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Outcome::Failed("ends without a result");
  }
  if (text[0] == 'P') return Outcome::Passed();
  return text[0] == 'S' ? Outcome::Skipped(text.substr(1)) : Outcome::Failed(text.substr(1));
}

Outcome TryFile(const Json& c, const std::string& file, const std::string& folder,
                const std::string& cwd, const Operators& ops) {
  int ends[2];
  if (pipe(ends) != 0) return Outcome::Failed("no pipe");
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    TryInChild(c, file, folder, cwd, ops, ends[1]);
  }
  close(ends[1]);
  bool timed_out = false;
  std::string text = ReadFrom(ends[0], timed_out);
  close(ends[0]);
  if (timed_out) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  Outcome outcome = Decode(text, timed_out, status);
  if (!fs::is_empty(cwd)) return Outcome::Failed("a file was written");
  return outcome;
}

}  // namespace

Result<Tally> RunHostile(const Settings& settings, const std::string& folder,
                         const Operators& ops) {
  std::string place = fs::absolute(folder).string();
  PAL_TRY(Json list, LoadJson(place + "/cases.json"));
  TemporaryFolder unpacked, cwd;
  if (!Unpack(place + "/files.tar.gz", unpacked.path())) {
    return BadInput("cannot unpack " + place + "/files.tar.gz with tar");
  }
  Tally tally(settings);
  for (const Json& c : list.items()) {
    std::string id = c["file"].Text();
    if (!settings.Wants(id)) continue;
    std::string file = unpacked.path() + "/hostile/" + id;
    tally.Add(id, TryFile(c, file, place, cwd.path(), ops));
  }
  return tally;
}

}  // namespace cases
