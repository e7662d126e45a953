// Puts a data set together from fields that are still text.
#pragma once

#include <functional>
#include <hone/code_facts.hpp>
#include <map>
#include <string>
#include <vector>

#include "tools/learn/csv.hpp"
#include "tools/learn/data_set.hpp"

namespace hone::tools::learn {

// Before the name of a code fact, as a column of a file and as a variable of a candidate.
inline constexpr const char* fact_prefix = "fact_";

// A candidate as a file names it, its parameters still text.
struct NamedCandidate {
  explicit NamedCandidate(std::string solver) : name(solver) { pick.solver = std::move(solver); }

  std::string name;
  Pick pick;
  std::map<std::string, std::string> parameters;
  CodeFacts facts = {};
};

class DataSetBuilder {
 public:
  explicit DataSetBuilder(const ReadOptions& options) : options_(options) {}

  void set_default(std::string name) { default_ = std::move(name); }
  void set_environment_class(std::string name) { environment_class_ = std::move(name); }
  void complain(std::string complaint) { complaints_.push_back(std::move(complaint)); }
  void add_bytes(std::string_view bytes) { bytes_ += learning_hash(bytes); }

  // The fields of the file that is read now, in order. Throws where an earlier file had others.
  void set_fields(const std::vector<std::string>& fields, const std::string& file);
  // The place of the candidate, which is added when it is new. Of facts that differ from one problem to another the
  // greatest is kept.
  std::uint32_t candidate(const NamedCandidate& candidate);
  // A problem with the text of each field, each number checked; false after a complaint.
  bool add(const CsvTable& table, const CsvTable::Line& line, const std::vector<std::size_t>& columns, Split split,
           std::vector<Measurement> measurements);

  DataSet finish();

 private:
  static std::string learning_hash(std::string_view bytes);
  struct Row {
    std::vector<std::string> texts;
    std::vector<Measurement> measurements;
    Split split = Split::none;
    std::size_t line = 0;
    std::string complaint_place;
  };
  learning::Variable variable_of(const std::string& name, bool category,
                                 const std::function<void(const std::function<void(const std::string&)>&)>& each) const;
  void describe_problems(DataSet& data);
  void describe_candidates(DataSet& data);
  void take_rows(DataSet& data);

  const ReadOptions& options_;
  std::string default_;
  std::string environment_class_;
  std::string bytes_;
  std::vector<std::string> fields_;
  std::vector<NamedCandidate> candidates_;
  std::map<std::string, std::uint32_t> places_;
  std::vector<Row> rows_;
  std::vector<std::string> complaints_;
};

}  // namespace hone::tools::learn
