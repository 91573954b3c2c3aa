import { expect, it } from 'vitest'
import { inspectEngine } from '../../src/providers/docker/inspection/engine-facts.ts'
import { docker, runDocker } from '../support/engine/docker.ts'
import { describeWithEngine, engine } from '../support/engine/suite.ts'

describeWithEngine('the engine of the tests', () => {
  it('keeps containers alive when it is killed', async () => {
    const { folder, images } = engine
    const id = await docker(folder, ['run', '--detach', '--init', images.tiny, 'sleep', '600'])
    const started = await docker(folder, ['inspect', '--format', '{{.State.Pid}} {{.State.StartedAt}}', id])
    await engine.killEngine()
    expect(await runDocker(folder, ['ps'])).toMatchObject({ code: 1 })
    await engine.restartEngine()
    expect(await docker(folder, ['inspect', '--format', '{{.State.Pid}} {{.State.StartedAt}}', id])).toBe(started)
    await docker(folder, ['rm', '--force', id])
  })

  it('keeps the entrypoint of an image that gets other arguments', async () => {
    const { folder, images } = engine
    expect(await docker(folder, ['run', '--rm', images.tiny, 'echo', 'a b'])).toBe(
      'entrypoint: 2 arguments: [echo] [a b]\na b',
    )
  })

  it('says whether it limits disks, as with a container that somebody makes by hand, and keeps nothing of it', async () => {
    const { folder, images, url } = engine
    const { limitsDisk } = await inspectEngine({ url, tls: null })
    const made = await runDocker(folder, ['create', '--storage-opt', 'size=10G', images.tiny])
    if (made.code === 0) await docker(folder, ['rm', made.stdout.trim()])
    else expect(made.stderr).toMatch(/storage|quota/i)
    const inContainerd = (await docker(folder, ['info', '--format', '{{.DriverStatus}}'])).includes('io.containerd')
    expect(limitsDisk).toBe(made.code === 0 && !inContainerd)
    expect(await docker(folder, ['ps', '-aq', '--filter', 'name=berth-probe'])).toBe('')
    expect(await docker(folder, ['images', '-q', 'berth-probe-*'])).toBe('')
  })

  it('pulls the private image only with a login', async () => {
    const { folder, registry } = engine
    expect(await runDocker(folder, ['pull', registry.image])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no basic auth credentials'),
    })
    const login = ['login', '--username', registry.username, '--password-stdin', registry.host]
    await docker(folder, login, registry.password)
    await docker(folder, ['pull', registry.image])
    await docker(folder, ['rmi', registry.image])
    await docker(folder, ['logout', registry.host])
  })
})
