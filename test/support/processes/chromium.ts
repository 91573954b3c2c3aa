/** Debian's browser, for tests of pages. */
export const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

/** It runs as root, and asks for nothing but the pages of tests. */
export const chromiumArgs = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
]
