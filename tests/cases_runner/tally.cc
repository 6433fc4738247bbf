#include "tally.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <vector>

namespace cases {
namespace {

// Reasons that differ in numbers only count as one.
std::string WithoutNumbers(const std::string& text) {
  std::string result;
  for (char c : text) {
    bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) {
      result += c;
    } else if (result.empty() || result.back() != '#') {
      result += '#';
    }
  }
  if (result.size() > 140) result = result.substr(0, 140) + "...";
  return result;
}

}  // namespace

void Tally::Add(const std::string& id, const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::kPassed:
      ++passed_;
      break;
    case Outcome::Kind::kFailed:
      ++failed_;
      std::printf("FAIL %s: %s\n", id.c_str(), outcome.reason.c_str());
      std::fflush(stdout);
      break;
    case Outcome::Kind::kSkipped:
      ++skipped_;
      ++skip_reasons_[WithoutNumbers(outcome.reason)];
      if (verbose_) std::printf("skip %s: %s\n", id.c_str(), outcome.reason.c_str());
      break;
  }
}

void Tally::PrintSkipReasons() const {
  std::vector<std::pair<int, std::string>> reasons;
  for (const auto& [reason, count] : skip_reasons_) reasons.emplace_back(count, reason);
  std::sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (const auto& [count, reason] : reasons) {
    std::printf("skipped %d: %s\n", count, reason.c_str());
  }
}

std::string Tally::Sum() const {
  return std::to_string(passed_) + " passed, " + std::to_string(failed_) + " failed, " +
         std::to_string(skipped_) + " skipped";
}

void Tally::operator+=(const Tally& other) {
  passed_ += other.passed_;
  failed_ += other.failed_;
  skipped_ += other.skipped_;
  for (const auto& [reason, count] : other.skip_reasons_) skip_reasons_[reason] += count;
}

bool IsUnsupported(const palimpsest::Error& error) {
  return error.kind == palimpsest::ErrorKind::kUnsupported ||
         error.kind == palimpsest::ErrorKind::kUnknownOperator;
}

bool IsUserAtFault(const palimpsest::Error& error) {
  return error.kind == palimpsest::ErrorKind::kBadInput || !error.reason.empty();
}

Outcome FromError(const palimpsest::Error& error, const std::string& what) {
  if (IsUnsupported(error)) return Outcome::Skipped(error.message);
  std::string reason = error.reason.empty() ? "" : " (" + error.reason + ")";
  return Outcome::Failed(what + ": " + error.message + reason);
}

}  // namespace cases
