// The image and the compose file of docs/deploying.md, made and started as the page says.

import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { importDebian } from '../../support/deploy/debian.ts'
import { deployObstacle } from '../../support/deploy/obstacle.ts'
import { createRenter, type Renter, untilReady } from '../../support/deploy/renter.ts'
import { archive, paste, snippetsOf } from '../../support/deploy/snippets.ts'
import { readPage } from '../../support/docs.ts'
import { docker, runDocker } from '../../support/engine/docker.ts'
import { startEngine } from '../../support/engine/engine.ts'
import { freePorts } from '../../support/failover/programs.ts'

const obstacle = deployObstacle('docker-compose')
if (obstacle) process.stdout.write(`No image was tried: ${obstacle}.\n`)

const base = 'berth.test/debian:12'
const building = [
  ['git archive HEAD', archive],
  ['docker build', `docker build --network host --build-arg BASE=${base}`],
] as const
/** Hundreds of Debian's packages for npm, and those of npm. */
const buildMs = 1_800_000
/** Of Docker's Compose, which is a part of the client, to Debian's. */
const composing = ['docker compose', 'docker-compose'] as const

describe.skipIf(obstacle)('the images', () => {
  let engine: Awaited<ReturnType<typeof startEngine>>
  /** A folder of a reader, with the files of docs/deploy. */
  let folder: string
  let env: Record<string, string>

  beforeAll(async () => {
    engine = await startEngine()
    folder = await mkdtemp(join(tmpdir(), 'berth-deploy-'))
    await cp('docs/deploy', join(folder, 'docs/deploy'), { recursive: true, filter: path => !path.endsWith('secrets') })
    const [port] = await freePorts(1)
    env = { DOCKER_HOST: engine.url, DOCKER_CONFIG: join(engine.folder, 'client'), BERTH_PORT: String(port) }
    await importDebian(engine.folder, base)
    for (const snippet of snippetsOf('## The image', building)) await paste(snippet, folder, env)
  }, buildMs)
  afterAll(async () => {
    await engine?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const inDocker = (...args: string[]) => docker(engine.folder, args)
  const inImage = (script: string) => inDocker('run', '--rm', '--entrypoint', 'sh', 'berth', '-euc', script)

  it('are as large as the page says', async () => {
    const mb = Number(await inDocker('image', 'inspect', '--format', '{{.Size}}', 'berth')) / 1e6
    const [, said] = /about (\d+) MB/.exec(readPage('docs/deploying.md')) ?? []
    process.stdout.write(`The image has ${Math.round(mb)} MB.\n`)
    expect(Math.abs(mb - Number(said))).toBeLessThan(0.1 * mb)
  })

  it('have what the program imports, and neither npm nor packages for development', async () => {
    const script = `
      const { readdirSync } = await import('node:fs')
      const programs = ['src/main.ts', 'src/cli.ts', 'src/graphql/graphiql/bundle.ts']
      const modules = readdirSync('src', { recursive: true }).map(name => 'src/' + name)
        .filter(name => name.endsWith('.ts') && !programs.includes(name))
      for (const path of modules) await import(process.cwd() + '/' + path)
      console.log(modules.length, process.version)`
    const printed = await inDocker('run', '--rm', 'berth', '--input-type=module', '--eval', script)
    expect(printed).toMatch(/^\d{3,} v24\./)
    expect(Number.parseInt(printed, 10)).toBeGreaterThan(500)
    const development =
      'command -v npm || command -v gcc || ls -d node_modules/vitest node_modules/@biomejs/biome 2>/dev/null || echo none'
    expect(await inImage(development)).toBe('none')
  })

  it('work as a user who can change nothing of the program', async () => {
    const facts = await inImage(
      'id -u; touch src/main.ts 2>&1 || true; find / -xdev -writable -type f -not -path "/proc/*" | head -n 3',
    )
    expect(facts.split('\n')).toEqual(['10001', "touch: cannot touch 'src/main.ts': Permission denied"])
  })

  it('say that they need a database', async () => {
    const { code, stderr } = await runDocker(engine.folder, ['run', '--rm', 'berth'])
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^Berth cannot start\.\n.*Set DATABASE_URL/)])
  })

  describe('with Compose', () => {
    let [build, start, makeAccount]: string[] = []
    let url: string
    let renter: Renter
    let instance: string
    const compose = (command: string) =>
      paste(`docker-compose --project-name berth --file docs/deploy/compose.yaml ${command}`, folder, env)
    const gateway = async () => await compose('ps --quiet gateway')

    beforeAll(async () => {
      const [first = '', second = ''] = snippetsOf('## Compose', [...building, composing])
      const lines = first.trimEnd().split('\n')
      start = lines.at(-1) as string
      build = lines.slice(0, -1).join('\n')
      makeAccount = second
      url = `http://127.0.0.1:${env['BERTH_PORT']}`
    })

    it(
      'start as the page says, and serve a renter',
      async () => {
        await paste(build as string, folder, env)
        await writeFile(join(folder, 'docs/deploy/secrets/gateway.env'), 'SIMULATED_DELAY=0\n')
        await paste(start as string, folder, env)
        const health = async () => await inDocker('inspect', '--format', '{{.State.Health.Status}}', await gateway())
        await expect.poll(health, { timeout: 120_000, interval: 500 }).toBe('healthy')
        const { apiKey } = JSON.parse(await paste(makeAccount as string, folder, env))
        await compose('exec -T gateway berth market generate --machines 5')
        renter = createRenter(url, apiKey)
        instance = await renter.rent()
      },
      buildMs,
    )

    it('have no power, no way to write, and no secret in their environment', async () => {
      const status = await compose('exec -T gateway cat /proc/1/status')
      for (const line of [/^Uid:\t10001\t10001/m, /^CapBnd:\t0+$/m, /^CapEff:\t0+$/m, /^NoNewPrivs:\t1$/m])
        expect(status).toMatch(line)
      const write = await compose(
        'exec -T gateway sh -c "touch /opt/berth/x /etc/x || touch /tmp/x /var/lib/berth/x && echo wrote"',
      )
      expect(write).toBe('wrote')
      const environment = await compose('exec -T gateway cat /proc/1/environ')
      expect(environment).toContain('BERTH_SECRET_FILE=/run/secrets/berth-secret')
      const secret = await readFile(join(folder, 'docs/deploy/secrets/berth-secret'), 'utf8')
      for (const text of [secret, 'postgresql://']) expect(environment).not.toContain(text)
      expect(await compose('exec -T gateway ls /run/secrets')).not.toContain('database-owner-url')
      expect(await compose('exec -T database sh -c "id -un; grep CapEff /proc/1/status"')).toMatch(
        /^postgres\nCapEff:\t0+$/,
      )
    })

    it('keep the secrets for the owner of the folder, and never make them twice', async () => {
      const { mode } = await stat(join(folder, 'docs/deploy/secrets'))
      expect((mode & 0o777).toString(8)).toBe('700')
      await expect(paste('docs/deploy/make-secrets.sh', folder, env)).rejects.toThrow('exists already')
    })

    it('stop in time, and have everything when they start again', async () => {
      const id = await gateway()
      await compose('stop')
      const ended = await inDocker('inspect', '--format', '{{.State.ExitCode}} {{.State.OOMKilled}}', id)
      expect(ended).toBe('0 false')
      await compose('up --detach')
      await untilReady(url)
      expect(await renter.statusOf(instance)).toBe('RUNNING')
    })

    it('have everything after a crash of both, and after new containers', async () => {
      await compose('kill --signal SIGKILL')
      await compose('up --detach')
      await untilReady(url)
      expect(await renter.statusOf(instance)).toBe('RUNNING')
      await compose('down')
      await compose('up --detach')
      await untilReady(url)
      expect(await renter.statusOf(instance)).toBe('RUNNING')
      await renter.destroy(instance)
      await compose('down --volumes')
    })
  })
})
