// PostgreSQL's names for its error codes (appendix "PostgreSQL Error Codes" of its manual): those that gateways meet, and
// those of whole classes, whose codes end in 000.

const names: Record<string, string | undefined> = {
  '08000': 'connection_exception',
  '08001': 'sqlclient_unable_to_establish_sqlconnection',
  '08003': 'connection_does_not_exist',
  '08004': 'sqlserver_rejected_establishment_of_sqlconnection',
  '08006': 'connection_failure',
  '08P01': 'protocol_violation',
  '0A000': 'feature_not_supported',
  '21000': 'cardinality_violation',
  '22000': 'data_exception',
  '22001': 'string_data_right_truncation',
  '22003': 'numeric_value_out_of_range',
  '22012': 'division_by_zero',
  '22021': 'character_not_in_repertoire',
  '22P02': 'invalid_text_representation',
  '23000': 'integrity_constraint_violation',
  '23502': 'not_null_violation',
  '23503': 'foreign_key_violation',
  '23505': 'unique_violation',
  '23514': 'check_violation',
  '23P01': 'exclusion_violation',
  '25000': 'invalid_transaction_state',
  '25006': 'read_only_sql_transaction',
  '25P02': 'in_failed_sql_transaction',
  '25P03': 'idle_in_transaction_session_timeout',
  '25P04': 'transaction_timeout',
  '26000': 'invalid_sql_statement_name',
  '28000': 'invalid_authorization_specification',
  '28P01': 'invalid_password',
  '3D000': 'invalid_catalog_name',
  '3F000': 'invalid_schema_name',
  '40000': 'transaction_rollback',
  '40001': 'serialization_failure',
  '40003': 'statement_completion_unknown',
  '40P01': 'deadlock_detected',
  '42000': 'syntax_error_or_access_rule_violation',
  '42501': 'insufficient_privilege',
  '42601': 'syntax_error',
  '42703': 'undefined_column',
  '42704': 'undefined_object',
  '42883': 'undefined_function',
  '42P01': 'undefined_table',
  '42P07': 'duplicate_table',
  '53000': 'insufficient_resources',
  '53100': 'disk_full',
  '53200': 'out_of_memory',
  '53300': 'too_many_connections',
  '54000': 'program_limit_exceeded',
  '55000': 'object_not_in_prerequisite_state',
  '55006': 'object_in_use',
  '55P03': 'lock_not_available',
  '57000': 'operator_intervention',
  '57014': 'query_canceled',
  '57P01': 'admin_shutdown',
  '57P02': 'crash_shutdown',
  '57P03': 'cannot_connect_now',
  '57P04': 'database_dropped',
  '57P05': 'idle_session_timeout',
  '58000': 'system_error',
  '58030': 'io_error',
  '58P01': 'undefined_file',
  P0000: 'plpgsql_error',
  P0001: 'raise_exception',
  XX000: 'internal_error',
  XX001: 'data_corrupted',
  XX002: 'index_corrupted',
}

/** What a code of PostgreSQL means, or at least its class. */
export function conditionOf(sqlState: string): string | undefined {
  return names[sqlState] ?? names[`${sqlState.slice(0, 2)}000`]
}

/**
 * Messages with these codes name a database, a role, a table, a column, a file or a limit. Those of all other codes may quote
 * values of rows, or text of a statement. Berth has some errors of its own with codes of these classes.
 */
const harmless = /^(08|25|28|3D|3F|40|53|57|58)...$|^(42501|42703|42883|42P01|42P07|55006|55P03)$/

export function hasHarmlessMessage(sqlState: string): boolean {
  return harmless.test(sqlState)
}
