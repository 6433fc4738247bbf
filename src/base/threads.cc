#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace palimpsest {
namespace {

std::atomic<int> num_threads{0};  // 0: not asked yet

thread_local bool inside_task = false;

// Tasks [0, count) of one ParallelFor.
struct Job {
  TaskRef task;
  int64_t count;
  std::atomic<int64_t> next{0};

  void Work() {
    inside_task = true;
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) task(i);
    inside_task = false;
  }
};

class Pool {
 public:
  void Run(Job& job, int threads) {
    std::unique_lock<std::mutex> user(user_, std::try_to_lock);
    if (!user.owns_lock()) return job.Work();  // another thread uses the pool
    int helpers = static_cast<int>(std::min<int64_t>(threads, job.count)) - 1;
    {
      std::lock_guard lock(mutex_);
      while (static_cast<int>(workers_.size()) < helpers) {
        workers_.emplace_back([this] { Serve(); });
      }
      job_ = &job;
      places_ = helpers;
    }
    for (int i = 0; i < helpers; ++i) wake_.notify_one();
    job.Work();
    std::unique_lock<std::mutex> lock(mutex_);
    job_ = nullptr;  // who has not come yet need not
    done_.wait(lock, [this] { return active_ == 0; });
  }

 private:
  void Serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return job_ != nullptr && places_ > 0; });
      Job* job = job_;
      --places_;
      ++active_;
      lock.unlock();
      job->Work();
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex user_;  // held by the caller for the length of its job
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  int places_ = 0;  // helpers that the job still wants
  int active_ = 0;  // helpers at work
  std::vector<std::thread> workers_;
};

// Lives until the process ends: its threads may outlive every static object.
Pool& ThePool() {
  static Pool* pool = new Pool;
  return *pool;
}

}  // namespace

int NumThreads() {
  int n = num_threads.load(std::memory_order_relaxed);
  if (n == 0) {
    n = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    num_threads.store(n, std::memory_order_relaxed);
  }
  return n;
}

void SetNumThreads(int n) { num_threads.store(std::max(1, n), std::memory_order_relaxed); }

void ParallelFor(int64_t tasks, TaskRef task) {
  int threads = tasks > 1 && !inside_task ? NumThreads() : 1;
  if (threads == 1) {
    for (int64_t i = 0; i < tasks; ++i) task(i);
    return;
  }
  Job job{task, tasks};
  ThePool().Run(job, threads);
}

}  // namespace palimpsest
