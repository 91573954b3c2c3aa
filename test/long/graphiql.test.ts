import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumArgs, executablePath } from '../support/processes/chromium.ts'
import { type GatewayProcess, makeDataDir, startGateway } from '../support/processes/programs.ts'

let gateway: GatewayProcess
let browser: Browser
let page: Page
let key: string
/** The link that the gateway prints on a terminal. */
let link: string
let remove: () => Promise<void>
const unknownKey = `berth_${'a'.repeat(12)}_${'b'.repeat(40)}`
const externalRequests: string[] = []
const consoleErrors: string[] = []

beforeAll(async () => {
  expect(existsSync(executablePath), `${executablePath} does not exist. Install chromium, or set CHROMIUM.`).toBe(true)
  const made = await makeDataDir()
  remove = made.remove
  gateway = await startGateway({ BERTH_DATA_DIR: made.dataDir })
  key = readFileSync(join(made.dataDir, 'demo-key'), 'utf8')
  link = `${gateway.url}/graphql#key=${key}`
  browser = await chromium.launch({ executablePath, args: chromiumArgs })
  page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
  page.on('request', request => {
    const url = request.url()
    if (!/^(blob|data):/.test(url) && !url.startsWith(gateway.url)) externalRequests.push(url)
  })
  page.on('console', message => message.type() === 'error' && consoleErrors.push(message.text()))
})

afterAll(async () => {
  await browser?.close()
  gateway?.child.kill('SIGTERM')
  await gateway?.exit
  await remove?.()
})

/** Runs the operation of the tab that is open. GraphiQL shows only the first lines of a long answer: this returns all. */
const run = async () => {
  const answering = page.waitForResponse(one => one.url().startsWith(`${gateway.url}/graphql`))
  await page.click('.graphiql-execute-button')
  const response = await answering
  const shown = async () => (await page.textContent('.graphiql-response'))?.replaceAll('\u00a0', ' ') ?? ''
  await expect.poll(shown, { timeout: 15_000 }).toContain('"data"')
  const isStream = response.headers()['content-type']?.startsWith('text/event-stream')
  return isStream ? await shown() : JSON.stringify(await response.json(), null, 2)
}

/** Opens a tab, and waits until GraphiQL has detected its operation. */
const open = async (tab: string) => {
  await page.click(`.graphiql-tab-button:text-is("${tab}")`)
  await page.waitForTimeout(800)
}

const expectedAnswers = [
  ['Find', '"totalCount"'],
  ['Quote', '"rentable": true'],
  ['Keys', '"prefix": "berth_'],
  ['Rent', '"id": "ins_'],
  ['Watch', '"label": "my first"'],
  ['Follow', '"__typename": "Instance'],
  ['Stop', '"outcome": "APPLIED"'],
  ['Template', '"hashId"'],
  ['Best', '"source": "TEMPLATE"'],
  ['Bid', '"bidPerHour": "0.45"'],
  ['Storage', '"id": "vof_'],
  ['Volume', '"id": "vol_'],
  ['Costs', '"runwaySeconds": '],
  ['Clean', '"status": "DESTROYED"'],
] as const

describe('GraphiQL in a browser', () => {
  beforeAll(async () => {
    await page.goto(link)
  })

  it.each([...expectedAnswers, ...expectedAnswers])('runs the tab %s as it is, twice', async (tab, expected) => {
    await open(tab)
    const answer = await run()
    expect(answer).toContain(expected)
    expect(answer).not.toContain('"errors"')
    // A status reason has a code too, but is not an error.
    expect(answer.replace(/"(statusReason|reason)": \{[^}]*\}/g, '')).not.toContain('"code"')
    // A stream runs on until the button is pressed again.
    if (tab === 'Follow') await page.click('.graphiql-execute-button')
  })

  it('removes with the last tab all that the others made, also if they ran twice', async () => {
    for (const tab of ['Find', 'Rent', 'Find', 'Rent', 'Template', 'Best', 'Best', 'Storage', 'Volume', 'Volume']) {
      await open(tab)
      expect(await run()).not.toContain('"code"')
    }
    await open('Clean')
    const answer = await run()
    expect(answer.match(/"status": "DESTROYED"/g)).toHaveLength(4)
    expect(answer.match(/"deletedId": "vol_/g)).toHaveLength(2)
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const query = '{ instances(first: 1) { totalCount } volumes(first: 1) { totalCount } }'
    const left = await fetch(`${gateway.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
    expect(await left.json()).toMatchObject({ data: { instances: { totalCount: 0 }, volumes: { totalCount: 0 } } })
  })

  it('hands ids on after a reload, and leaves variables that were edited', async () => {
    await open('Find')
    await run()
    await page.reload()
    await open('Quote')
    expect(await run()).toContain('"rentable": true')
    await page.click('.graphiql-editor-tool .view-lines:visible')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('{ "offer": "off_1')
    // GraphiQL keeps what is typed after a moment.
    await page.waitForTimeout(800)
    await open('Find')
    await run()
    await open('Quote')
    await expect.poll(() => page.textContent('.graphiql-editor-tool .view-lines:visible')).toMatch(/off_1\b/)
  })

  it('shows the variables of a tab in an editor, and the key under Headers', async () => {
    await page.goto(link)
    await open('Rent')
    await page.waitForSelector('.graphiql-editor-tool .view-lines:visible:has-text("off_")', { timeout: 5_000 })
    await page.click('.graphiql-editor-tools button:has-text("Headers")')
    await page.waitForSelector('.graphiql-editor-tool .view-lines:visible:has-text("berth_")', { timeout: 5_000 })
  })

  it('switches tabs with one click, even on a first visit', async () => {
    const visitor = await browser.newContext()
    const first = await visitor.newPage()
    await first.goto(link)
    for (const tab of ['Rent', 'Watch', 'Find']) {
      await first.click(`.graphiql-tab-button:has-text("${tab}")`)
      await first.waitForSelector(`.graphiql-tab-active:has-text("${tab}")`, { timeout: 5_000 })
    }
    await visitor.close()
  })

  it('keeps its tabs and the key after a reload', async () => {
    await page.reload()
    await page.waitForSelector('.graphiql-tab-button')
    expect(await page.locator('.graphiql-tab-button').allTextContents()).toHaveLength(14)
    expect(await run()).not.toContain('"errors"')
  })

  it('takes the key from the link, out of the address bar, and into the storage of the tab alone', async () => {
    await page.goto(link)
    await page.waitForSelector('.graphiql-tab-button')
    expect(page.url()).not.toContain(key)
    await page.waitForTimeout(1_000)
    const [local, session] = await page.evaluate(() => [JSON.stringify(localStorage), JSON.stringify(sessionStorage)])
    expect([local?.includes(key), session?.includes(key)]).toEqual([false, true])
    expect(await page.isVisible('#key')).toBe(false)
  })

  it('asks for a key without the link, and keeps its tabs when it gets one', async () => {
    const visitor = await browser.newContext()
    const first = await visitor.newPage()
    await first.goto(`${gateway.url}/graphql`)
    await first.waitForSelector('#key:visible')
    expect(await first.textContent('#key')).toContain('Open the link that Berth names when it starts')
    await first.click('.graphiql-tab-button:has-text("Costs")')
    const activeTab = () => JSON.parse(sessionStorage.getItem('graphiql:tabState') ?? '{}').activeTabIndex
    await first.waitForFunction(activeTab)
    const paste = async (text: string) => {
      await first.fill('#key input', text)
      await first.click('#key button')
    }
    const said = () => first.textContent('#key output')
    await first.click('.graphiql-execute-button')
    await first.waitForSelector('.graphiql-response .view-lines:has-text("An API key is required")')
    await paste('no key')
    await expect.poll(said).toContain('This is no API key')
    await paste(unknownKey)
    await expect.poll(said).toBe('The API key is unknown, expired or revoked.')
    await paste(` Bearer ${key} `)
    await first.waitForSelector('#key', { state: 'hidden' })
    await first.waitForSelector('.graphiql-tab-active:has-text("Costs")')
    await first.waitForTimeout(800)
    await first.click('.graphiql-execute-button')
    await first.waitForSelector('.graphiql-response .view-lines:has-text("runwaySeconds")')
    await visitor.close()
  })

  it('asks for another key when the gateway does not accept the one that it has', async () => {
    const visitor = await browser.newContext()
    const first = await visitor.newPage()
    await first.goto(`${gateway.url}/graphql#key=${unknownKey}`)
    await first.waitForSelector('#key:visible')
    expect(await first.textContent('#key output')).toContain('unknown, expired or revoked. Paste another one')
    await first.fill('#key input', key)
    await first.click('#key button')
    await first.waitForSelector('#key', { state: 'hidden' })
    await first.reload()
    await first.waitForSelector('.graphiql-tab-button')
    await first.waitForTimeout(1_000)
    expect(await first.isVisible('#key')).toBe(false)
    await visitor.close()
  })

  it('takes another key from a link that is opened in the same tab only if the visitor agrees', async () => {
    await page.goto(link)
    await page.waitForSelector('.graphiql-tab-button')
    const openOther = () => page.evaluate(hash => location.assign(hash), `#key=${unknownKey}`)
    const nextQuestion = () => page.waitForEvent('dialog')
    const [refused] = await Promise.all([nextQuestion(), openOther()])
    expect(refused.type()).toBe('confirm')
    await refused.dismiss()
    await page.waitForSelector('.graphiql-tab-button')
    expect(await page.evaluate(() => sessionStorage.getItem('berth:key'))).toBe(key)
    expect(page.url()).not.toContain(unknownKey)
    const [agreed] = await Promise.all([nextQuestion(), openOther()])
    await agreed.accept()
    await page.waitForFunction(text => sessionStorage.getItem('berth:key') === text, unknownKey)
    await page.waitForSelector('.graphiql-tab-button')
    await page.waitForTimeout(1_000)
    const session = await page.evaluate(() => JSON.stringify(sessionStorage))
    expect([session.includes(key), session.includes(unknownKey), page.url().includes(unknownKey)]).toEqual([
      false,
      true,
      false,
    ])
    // The refused key is a failed request, which the browser logs.
    consoleErrors.length = 0
    const back = nextQuestion().then(question => question.accept())
    await Promise.all([back, page.goto(link)])
  })

  it('shows all tabs in a window of 1024 pixels, beside and below one another', async () => {
    const narrow = await browser.newPage({ viewport: { width: 1024, height: 700 } })
    await narrow.goto(link)
    const last = await narrow.waitForSelector('.graphiql-tab:has-text("Clean")')
    const isInside = (tab: Element) => {
      const [own, list] = [tab, tab.parentElement as Element].map(one => one.getBoundingClientRect())
      return own !== undefined && list !== undefined && own.right <= list.right && own.bottom <= list.bottom
    }
    expect(await last.evaluate(isInside)).toBe(true)
    await narrow.close()
  })

  it('fits a phone: nothing is wider, and all parts can be reached', async () => {
    const phone = await browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
    const small = await phone.newPage()
    await small.goto(link)
    await small.waitForSelector('.graphiql-tab-button')
    await small.waitForTimeout(800)
    expect(await small.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    await small.tap('.graphiql-execute-button')
    await small.waitForSelector('.graphiql-response .view-lines:has-text("totalCount")')
    await small.tap('.graphiql-tab-button:text-is("Rent")')
    for (const part of ['.graphiql-query-editor', '.graphiql-editor-tool:visible', '.graphiql-response']) {
      await small.locator(part).first().scrollIntoViewIfNeeded()
      const box = await small.locator(part).first().boundingBox()
      expect([part, (box?.width ?? 0) > 250, (box?.height ?? 0) > 100]).toEqual([part, true, true])
    }
    await small.tap('.graphiql-sidebar button[aria-label*="Documentation"]')
    await small.waitForSelector('.graphiql-doc-explorer')
    expect(await small.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    await phone.close()
  })

  it('sends requests only to the gateway, and logs no errors', () => {
    expect(externalRequests).toEqual([])
    expect(consoleErrors).toEqual([])
  })
})
