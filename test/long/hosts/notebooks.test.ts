// Notebooks in a browser: that each is a world of its own is for the browser to hold.

import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type NotebookService, serveNotebooks } from '../../support/notebooks/market.ts'
import { startNotebook } from '../../support/notebooks/notebook.ts'
import { newRunningInstance } from '../../support/ssh/instances.ts'

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

let database: TestDatabase
let gateway: Gateway
let notebook: Awaited<ReturnType<typeof startNotebook>>
let service: NotebookService
let browser: Browser

beforeAll(async () => {
  expect(existsSync(executablePath), `${executablePath} does not exist. Install chromium, or set CHROMIUM.`).toBe(true)
  database = await createDatabase()
  gateway = openGateway({ url: database.url, delayFactor: 0 })
  notebook = await startNotebook()
  const proxy = { protocol: 'http', host: 'localhost' } as const
  service = await serveNotebooks({ gateway, provider: notebook.provider, proxy })
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-quic'] })
})

afterAll(async () => {
  await browser?.close()
  service?.close()
  notebook?.close()
  await gateway?.close()
  await database?.drop()
})

async function rent() {
  const id = await newRunningInstance(gateway, [], { mode: 'jupyterProxy' })
  return { origin: `http://ins-${id}.localhost:${service.port}`, token: (await service.services.find(id))?.token ?? '' }
}

it('opens a notebook with its token once, whose page then has its WebSockets', async () => {
  const { origin, token } = await rent()
  const page = await browser.newPage()
  expect((await page.goto(`${origin}/lab`))?.status()).toBe(401)
  await page.fill('input', token)
  await page.click('button')
  await page.waitForURL(`${origin}/lab?token=${token}`)
  expect((await page.goto(`${origin}/lab`))?.status()).toBe(200)
  const echoed = await page.evaluate(
    () =>
      new Promise(resolve => {
        const socket = new WebSocket(`ws://${location.host}/socket`)
        socket.onopen = () => socket.send('hello')
        socket.onmessage = ({ data }) => resolve(data)
        socket.onclose = () => resolve('closed')
      }),
  )
  expect(echoed).toBe('hello')
  expect(await page.evaluate(() => document.cookie)).toBe('')
})

it('keeps the page of one notebook out of another that the same person has opened', async () => {
  const [mine, evil] = [await rent(), await rent()]
  const page = await browser.newPage()
  for (const { origin, token } of [mine, evil])
    expect((await page.goto(`${origin}/?token=${token}`))?.status()).toBe(200)
  notebook.seen.requests.length = 0
  const outcomes = await page.evaluate(async target => {
    const result = (done: Promise<unknown>) =>
      done.then(
        () => 'done',
        () => 'failed',
      )
    const element = (tag: 'img' | 'script' | 'iframe', src: string) =>
      new Promise<string>(resolve => {
        const made = Object.assign(document.createElement(tag), { src })
        made.onload = () => resolve('loaded')
        made.onerror = () => resolve('failed')
        document.body.append(made)
        if (tag === 'iframe') setTimeout(() => resolve('waited'), 1_000)
      })
    const socket = new Promise<string>(resolve => {
      const opened = new WebSocket(`${target.replace('http', 'ws')}/socket`)
      opened.onopen = () => resolve('opened')
      opened.onclose = () => resolve('closed')
    })
    // biome-ignore lint/suspicious/noDocumentCookie: that is what the page would do
    document.cookie = 'berth-notebook=evil; domain=localhost; path=/'
    return {
      read: await result(fetch(`${target}/headers`, { credentials: 'include' })),
      write: await result(
        fetch(`${target}/echo`, { method: 'POST', mode: 'no-cors', credentials: 'include', body: 'x' }),
      ),
      script: await element('script', `${target}/script`),
      frame: await element('iframe', `${target}/frame`),
      socket: await socket,
    }
  }, mine.origin)
  expect(outcomes).toMatchObject({ read: 'failed', script: 'failed', socket: 'closed' })
  // Browsers ask for an icon by themselves, for each page that was opened.
  const reached = notebook.seen.requests.map(({ url }) => url).filter(url => url !== '/favicon.ico')
  expect(reached).toEqual([])
  // A link leads there, as to any other page.
  await page.evaluate(target => location.assign(target), `${mine.origin}/lab`)
  await page.waitForURL(`${mine.origin}/lab`)
  expect(await page.textContent('body')).toBe('a notebook')
})
