import type { AdmissionRules } from '../../../src/domain/billing/admission.ts'

/** As the settings have it when none is given. */
export const defaultAdmission = {
  minimumRunwayMs: 3_600_000,
  debtGraceMs: 48 * 3_600_000,
  quotas: { instances: 1_000, loading: 64, diskGb: 100_000, volumes: 500 },
} satisfies AdmissionRules

/** For suites that rent on one account what many would rent. */
export const unlimitedAdmission = {
  ...defaultAdmission,
  quotas: { instances: 1_000_000, loading: 1_000_000, diskGb: 1_000_000_000, volumes: 1_000_000 },
} satisfies AdmissionRules
