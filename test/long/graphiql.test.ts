import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayProcess, makeDataDir, startGateway } from '../support/processes/programs.ts'

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const chromiumArgs = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
]

let gateway: GatewayProcess
let browser: Browser
let page: Page
let remove: () => Promise<void>
const externalRequests: string[] = []
const consoleErrors: string[] = []

beforeAll(async () => {
  expect(existsSync(executablePath), `${executablePath} does not exist. Install chromium, or set CHROMIUM.`).toBe(true)
  const made = await makeDataDir()
  remove = made.remove
  gateway = await startGateway({ BERTH_DATA_DIR: made.dataDir })
  browser = await chromium.launch({ executablePath, args: chromiumArgs })
  page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
  page.on('request', request => {
    if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(gateway.url))
      externalRequests.push(request.url())
  })
  page.on('console', message => message.type() === 'error' && consoleErrors.push(message.text()))
})

afterAll(async () => {
  await browser?.close()
  gateway?.child.kill('SIGTERM')
  await gateway?.exit
  await remove?.()
})

const run = async () => {
  await page.click('.graphiql-execute-button')
  await page.waitForSelector('.graphiql-response .view-lines:has-text("data")')
  return (await page.textContent('.graphiql-response'))?.replaceAll('\u00a0', ' ') ?? ''
}

describe('GraphiQL in a browser', () => {
  it.each([
    ['Find', '"totalCount"'],
    ['Quote', '"rentable": true'],
    ['Keys', '"prefix": "berth_'],
    ['Rent', '"id": "ins_1"'],
    ['Watch', '"label": "my first"'],
    ['Follow', '"instanceChanges": {'],
    ['Stop', '"outcome": "APPLIED"'],
    ['Template', '"hashId"'],
    ['Best', '"source": "TEMPLATE"'],
    ['Bid', '"bidPerHour": "0.45"'],
    ['Volume', '"id": "vol_1"'],
    ['Costs', '"runwaySeconds": '],
    ['Destroy', '"succeededCount": 2'],
  ])('runs the tab %s unchanged', async (tab, expected) => {
    await page.goto(`${gateway.url}/graphql`)
    await page.click(`.graphiql-tab-button:has-text("${tab}")`)
    // GraphiQL takes a moment to detect the operation of the tab.
    await page.waitForTimeout(800)
    const answer = await run()
    expect(answer).toContain(expected)
    expect(answer).not.toContain('"errors"')
    // A status reason has a code too, but is not an error.
    expect(answer.replace(/"statusReason": \{[^}]*\}/g, '')).not.toContain('"code"')
  })

  it('shows the variables of a tab in an editor, and the key under Headers', async () => {
    await page.goto(`${gateway.url}/graphql`)
    await page.click('.graphiql-tab-button:has-text("Rent")')
    await page.waitForSelector('.graphiql-editor-tool .view-lines:visible:has-text("off_1")', { timeout: 5_000 })
    await page.click('.graphiql-editor-tools button:has-text("Headers")')
    await page.waitForSelector('.graphiql-editor-tool .view-lines:visible:has-text("berth_")', { timeout: 5_000 })
  })

  it('switches tabs with one click, even on a first visit', async () => {
    const visitor = await browser.newContext()
    const first = await visitor.newPage()
    await first.goto(`${gateway.url}/graphql`)
    for (const tab of ['Rent', 'Watch', 'Find']) {
      await first.click(`.graphiql-tab-button:has-text("${tab}")`)
      await first.waitForSelector(`.graphiql-tab-active:has-text("${tab}")`, { timeout: 5_000 })
    }
    await visitor.close()
  })

  it('keeps its tabs and the key after a reload', async () => {
    await page.reload()
    await page.waitForSelector('.graphiql-tab-button')
    expect(await page.locator('.graphiql-tab-button').allTextContents()).toHaveLength(13)
    expect(await run()).not.toContain('"errors"')
  })

  it('sends requests only to the gateway, and logs no errors', () => {
    expect(externalRequests).toEqual([])
    expect(consoleErrors).toEqual([])
  })
})
