#include "report/explanation_json.h"

#include "report/json_text.h"

namespace palimpsest::report {
namespace {

void WriteBase(JsonText& json, const Explanation::Base& base) {
  json.BeginObject();
  json.Key("name").Text(base.name);
  json.Key("bytes").Number(base.bytes);
  json.Key("verdict").Text(base.verdict);
  json.Key("copied_bytes").Number(base.copied_bytes);
  json.Key("reader").Text(base.reader);
  json.Key("writer").Text(base.writer);
  json.Key("reader_at").Text(base.reader_at);
  json.Key("writer_at").Text(base.writer_at);
  json.Key("why").Text(base.why);
  json.EndObject();
}

}  // namespace

std::string ToJson(const Explanation& e) {
  JsonText json;
  json.BeginObject();
  json.Key("schema").Text("palimpsest.explain/1");
  json.Key("signature").Text(e.signature);
  json.Key("copied_bytes").Number(e.copied_bytes);
  json.Key("least_copied_bytes").Number(e.least_copied_bytes);
  json.Key("proven").Truth(e.copied_bytes == e.least_copied_bytes);
  json.Key("program_copied_bytes").Number(e.program_copied_bytes);
  json.Key("clones").Number(int64_t{e.clones});
  json.Key("arena_bytes").Number(e.arena_bytes);
  json.Key("arena_lower_bound").Number(e.arena_lower_bound);
  json.Key("bases").BeginList();
  for (const Explanation::Base& base : e.bases) WriteBase(json, base);
  json.EndList();
  json.Key("remarks").BeginList();
  for (const std::string& remark : e.remarks) json.Text(remark);
  json.EndList();
  json.Key("milliseconds").BeginObject();
  json.Key("functionalize").Number(e.functionalize_ms);
  json.Key("optimize").Number(e.optimize_ms);
  json.Key("reinplace").Number(e.reinplace_ms);
  json.Key("plan").Number(e.plan_ms);
  json.EndObject();
  json.EndObject();
  return json.Take();
}

}  // namespace palimpsest::report
