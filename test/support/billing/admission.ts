import type { AdmissionRules } from '../../../src/domain/billing/admission.ts'

/** The defaults of the settings. */
export const defaultAdmission = {
  minimumRunwayMs: 3_600_000,
  debtGraceMs: 48 * 3_600_000,
  quotas: { instances: 1_000, loading: 64, diskGb: 100_000, volumes: 500 },
} satisfies AdmissionRules

/** For suites that rent more on one account than its quotas allow. */
export const unlimitedAdmission = {
  ...defaultAdmission,
  quotas: { instances: 1_000_000, loading: 1_000_000, diskGb: 1_000_000_000, volumes: 1_000_000 },
} satisfies AdmissionRules
