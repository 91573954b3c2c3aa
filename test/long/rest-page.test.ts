import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumArgs, executablePath } from '../support/processes/chromium.ts'
import { type GatewayProcess, makeDataDir, startGateway } from '../support/processes/programs.ts'

let gateway: GatewayProcess
let browser: Browser
let page: Page
let remove: () => Promise<void>
const problems: string[] = []

beforeAll(async () => {
  expect(existsSync(executablePath), `${executablePath} does not exist. Install chromium, or set CHROMIUM.`).toBe(true)
  const made = await makeDataDir()
  remove = made.remove
  gateway = await startGateway({ BERTH_DATA_DIR: made.dataDir })
  browser = await chromium.launch({ executablePath, args: chromiumArgs })
  page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
  page.on('console', message => message.type() === 'error' && problems.push(message.text()))
  await page.goto(`${gateway.url}/api/v0/docs/`)
})

afterAll(async () => {
  await browser?.close()
  gateway?.child.kill('SIGTERM')
  await gateway?.exit
  await remove?.()
})

const shownRoutes = async () =>
  await page.locator('main section:visible:has(.route)').evaluateAll(all => all.map(({ id }) => id))

describe('the REST documentation in a browser', () => {
  it('names the gateway in its examples by the address that the browser knows', async () => {
    const text = await page.textContent('main')
    expect(await page.textContent('body')).toContain(`export BERTH=${gateway.url}\n`)
    expect(text).toContain(`${gateway.url}/api/v0/results/`)
    expect(text).not.toContain('127.0.0.1:4000')
  })

  it('finds routes by words, and shows all again', async () => {
    const all = await shownRoutes()
    await page.keyboard.press('/')
    await page.keyboard.type('snapshot image')
    expect(await shownRoutes()).toContain('takeSnapshot')
    expect((await shownRoutes()).length).toBeLessThan(all.length / 4)
    expect(await page.textContent('#search output')).toMatch(/^\d+ routes?$/)
    expect(await page.locator('nav li:visible').count()).toBe((await shownRoutes()).length)
    await page.fill('#search input', 'zzzz')
    expect(await shownRoutes()).toEqual([])
    await page.fill('#search input', '')
    expect(await shownRoutes()).toEqual(all)
  })

  it('finds fields, and shows a hidden part that a link names', async () => {
    await page.fill('#search input', 'dlperf_per_dphtotal')
    expect(await page.isVisible('section#Offer')).toBe(true)
    await page.fill('#search input', 'reboot')
    expect(await page.isVisible('section#Account')).toBe(false)
    await page.evaluate(() => location.assign('#Account'))
    await page.waitForSelector('section#Account:visible')
  })

  it.each(['light', 'dark'] as const)('fits a phone, also without scripts, in %s colors', async colorScheme => {
    const viewport = { width: 390, height: 844 }
    const phone = await browser.newContext({ viewport, isMobile: true, colorScheme, javaScriptEnabled: false })
    const small = await phone.newPage()
    await small.goto(`${gateway.url}/api/v0/docs/#rentOffer`)
    expect(await small.isVisible('#search')).toBe(false)
    expect(await small.isVisible('section#rentOffer pre')).toBe(true)
    await phone.close()
    const scripted = await browser.newContext({ viewport, isMobile: true, colorScheme })
    const measured = await scripted.newPage()
    await measured.goto(`${gateway.url}/api/v0/docs/`)
    expect(await measured.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    const background = await measured.evaluate(
      () => getComputedStyle(document.querySelector('#search') as Element).backgroundColor,
    )
    expect(background).toBe(colorScheme === 'dark' ? 'rgb(18, 18, 18)' : 'rgb(255, 255, 255)')
    await scripted.close()
  })

  it('logs no errors', () => {
    expect(problems).toEqual([])
  })
})
