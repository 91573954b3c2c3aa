import { inject } from 'vitest'
import { type TestLogins, withLogin } from './logins.ts'

/** The URL with another role. A URL that is invalid, or already has a role of tests, stays as it is. */
export function urlAs(kind: keyof TestLogins, url: string): string {
  if (!URL.canParse(url)) return url
  return new URL(url).username.startsWith('berth_test_') ? url : withLogin(url, inject('logins')[kind])
}
