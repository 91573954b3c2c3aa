import type { TestProject } from 'vitest/node'
import type { Databases } from '../support/global-setup.ts'

/** The databases run as long as the mutants do: a start for each of them would take longer than its tests. */
export default function setup({ provide }: TestProject): void {
  const given: Databases = JSON.parse(process.env['BERTH_MUTANT_DATABASES'] as string)
  provide('serverUrls', given.serverUrls)
  provide('templateName', given.templateName)
  provide('logins', given.logins)
}
