/* The functions of the cases; cases.c describes what each expects. */
#ifndef EPPROF_CLI_CONFORM_CASES_CASES_H
#define EPPROF_CLI_CONFORM_CASES_CASES_H

#include "cli/conform/conform.h"

/* ---- cases_load.c ---- */
void case_load_library(const struct conform *conform);
void case_load_profiler(const struct conform *conform);
void case_load_entries(const struct conform *conform);
void case_load_version(const struct conform *conform);
void case_load_old_host(const struct conform *conform);
void case_load_unload(const struct conform *conform);
void case_load_prints(const struct conform *conform);
void case_load_process(const struct conform *conform);

/* ---- cases_idle.c ---- */
void case_idle_threads(const struct conform *conform);
void case_idle_calls(const struct conform *conform);

/* ---- cases_order.c ---- */
void case_order_never_started(const struct conform *conform);
void case_order_end_alone(const struct conform *conform);
void case_order_start_twice(const struct conform *conform);
void case_order_end_twice(const struct conform *conform);
void case_order_events_outside(const struct conform *conform);
void case_order_stop_alone(const struct conform *conform);
void case_order_open_event(const struct conform *conform);
void case_order_release_started(const struct conform *conform);

/* ---- cases_runs.c ---- */
void case_session_empty(const struct conform *conform);
void case_session_no_host_events(const struct conform *conform);
void case_session_run_level(const struct conform *conform);
void case_restart_many(const struct conform *conform);
void case_restart_repeats(const struct conform *conform);
void case_restart_silent(const struct conform *conform);
void case_events_many(const struct conform *conform);
void case_data_parses(const struct conform *conform);

/* ---- cases_threads.c ---- */
void case_threads_events(const struct conform *conform);
void case_threads_complete(const struct conform *conform);
void case_threads_ids(const struct conform *conform);
void case_ids_parent(const struct conform *conform);
void case_ids_unknown(const struct conform *conform);
void case_ids_threads(const struct conform *conform);
void case_ids_nested(const struct conform *conform);
void case_ids_interleaved(const struct conform *conform);
void case_sessions_two(const struct conform *conform);
void case_events_late(const struct conform *conform);
void case_events_cost(const struct conform *conform);

/* ---- cases_clock.c ---- */
void case_clock_window(const struct conform *conform);
void case_clock_refused(const struct conform *conform);
void case_clock_parents(const struct conform *conform);
void case_clock_clamped(const struct conform *conform);
void case_clock_host_time(const struct conform *conform);
void case_clock_overlap(const struct conform *conform);
void case_clock_zero(const struct conform *conform);
void case_clock_units(const struct conform *conform);
void case_clock_rate(const struct conform *conform);
void case_clock_order(const struct conform *conform);

/* ---- cases_devices.c ---- */
void case_late_run(const struct conform *conform);
void case_late_times(const struct conform *conform);
void case_clock_invented(const struct conform *conform);
void case_graph_node(const struct conform *conform);

/* ---- cases_alloc.c ---- */
void case_alloc_load(const struct conform *conform);
void case_alloc_record(const struct conform *conform);
void case_alloc_end(const struct conform *conform);
void case_alloc_after(const struct conform *conform);

/* ---- cases_stress.c ---- */
void case_leak_memory(const struct conform *conform);
void case_leak_descriptors(const struct conform *conform);
void case_leak_threads(const struct conform *conform);
void case_unload_threads(const struct conform *conform);
void case_exit_recording(const struct conform *conform);
void case_fork_child(const struct conform *conform);
void case_random_calls(const struct conform *conform);

/* ---- model/cases_model.c ---- */
void case_model_session(const struct conform *conform);
void case_model_restart(const struct conform *conform);
void case_model_run_level(const struct conform *conform);
void case_model_threads(const struct conform *conform);

/* ---- tf/cases_tf.c ---- */
void case_tf_room(const struct conform *conform);
void case_tf_newer_host(const struct conform *conform);
void case_tf_destroyed(const struct conform *conform);
void case_tf_copies(const struct conform *conform);
void case_tf_start_twice(const struct conform *conform);
void case_tf_stop_alone(const struct conform *conform);
void case_tf_stop_twice(const struct conform *conform);
void case_tf_collect_early(const struct conform *conform);
void case_tf_collect_running(const struct conform *conform);
void case_tf_collect_twice(const struct conform *conform);
void case_tf_size_twice(const struct conform *conform);
void case_tf_size_input(const struct conform *conform);
void case_tf_overrun(const struct conform *conform);
void case_tf_message(const struct conform *conform);
void case_tf_threads(const struct conform *conform);
void case_tf_random(const struct conform *conform);

/* ---- pu1/cases_pu1_buffers.c ---- */
void case_pu1_enable_twice(const struct conform *conform);
void case_pu1_kinds(const struct conform *conform);
void case_pu1_disabled(const struct conform *conform);
void case_pu1_flush(const struct conform *conform);
void case_pu1_callbacks_again(const struct conform *conform);
void case_pu1_declined(const struct conform *conform);
void case_pu1_dropped(const struct conform *conform);
void case_pu1_small_buffers(const struct conform *conform);
void case_pu1_tiny_buffers(const struct conform *conform);
void case_pu1_max_records(const struct conform *conform);
void case_pu1_size_value(const struct conform *conform);
void case_pu1_buffer_once(const struct conform *conform);
void case_pu1_buffer_left(const struct conform *conform);
void case_pu1_records(const struct conform *conform);
void case_pu1_next_record(const struct conform *conform);
void case_pu1_flush_thread(const struct conform *conform);

/* ---- pu1/cases_pu1_ids.c ---- */
void case_pu1_null_callbacks(const struct conform *conform);
void case_pu1_unknown_kind(const struct conform *conform);
void case_pu1_flush_alone(const struct conform *conform);
void case_pu1_result_text(const struct conform *conform);
void case_pu1_pop_empty(const struct conform *conform);
void case_pu1_pop_null(const struct conform *conform);
void case_pu1_push_order(const struct conform *conform);
void case_pu1_push_full(const struct conform *conform);
void case_pu1_stack_threads(const struct conform *conform);
void case_pu1_threads(const struct conform *conform);
void case_pu1_id_zero(const struct conform *conform);
void case_pu1_id_none(const struct conform *conform);
void case_pu1_clock_order(const struct conform *conform);
void case_pu1_random(const struct conform *conform);

/* ---- pjrt/cases_pjrt.c ---- */
void case_pjrt_chain(const struct conform *conform);
void case_pjrt_same(const struct conform *conform);
void case_pjrt_table_size(const struct conform *conform);
void case_pjrt_consume(const struct conform *conform);
void case_pjrt_old_host(const struct conform *conform);
void case_pjrt_options(const struct conform *conform);
void case_pjrt_never_started(const struct conform *conform);
void case_pjrt_start_twice(const struct conform *conform);
void case_pjrt_stop_alone(const struct conform *conform);
void case_pjrt_stop_twice(const struct conform *conform);
void case_pjrt_collect_early(const struct conform *conform);
void case_pjrt_collect_running(const struct conform *conform);
void case_pjrt_destroy_running(const struct conform *conform);
void case_pjrt_own_memory(const struct conform *conform);
void case_pjrt_collect_twice(const struct conform *conform);
void case_pjrt_overrun(const struct conform *conform);
void case_pjrt_message(const struct conform *conform);
void case_pjrt_code(const struct conform *conform);
void case_pjrt_destroy_null(const struct conform *conform);
void case_pjrt_two(const struct conform *conform);
void case_pjrt_threads(const struct conform *conform);
void case_pjrt_random(const struct conform *conform);

#endif
