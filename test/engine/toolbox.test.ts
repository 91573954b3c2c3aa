import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createInstance, type Instance, startInstance } from '../support/engine/instance.ts'
import { createKeyPair, scp, ssh } from '../support/engine/ssh.ts'
import { describeWithEngine, engine } from '../support/engine/suite.ts'

const { tiny, scratch, notebook } = engine?.images ?? {}
const [starting, ready, stopping] = ['[berth] starting', '[berth] ready', '[berth] stopping']

describeWithEngine('the entrypoint', () => {
  it.each([
    ['an image with a shell', tiny],
    ['an image with no file but one program', scratch],
  ])('lets a renter log in to %s', async (_, image) => {
    const key = await createKeyPair()
    const instance = await startInstance(engine, { image, keys: [key.publicKey] })
    expect(await instance.logs()).toEqual([starting, ready])
    expect(await ssh(instance, key, 'echo out; echo err >&2; id -u; exit 7')).toEqual({
      code: 7,
      stdout: 'out\n0\n',
      stderr: 'err\n',
    })
    expect(await ssh(instance, key, 'tty', ['-tt'])).toMatchObject({ code: 0, stdout: '/dev/pts/0\r\n' })
  })

  it('refuses a key that is not registered', async () => {
    const instance = await startInstance(engine, { image: tiny, keys: [(await createKeyPair()).publicKey] })
    expect(await ssh(instance, await createKeyPair(), 'true')).toMatchObject({ code: 255, stdout: '' })
  })

  it('takes a file by scp', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'berth-scp-'))
    const content = 'x'.repeat(3_000_000)
    await writeFile(join(folder, 'file'), content)
    const key = await createKeyPair()
    const instance = await startInstance(engine, { image: scratch, keys: [key.publicKey] })
    expect(await scp(instance, key, join(folder, 'file'), 'copy')).toMatchObject({ code: 0 })
    expect((await instance.exec('wc -c < /root/copy')).stdout).toBe(`${content.length}\n`)
    await rm(folder, { recursive: true })
  })

  it('lets a command in without SSH find the programs of busybox', async () => {
    const instance = await startInstance(engine, { image: scratch })
    expect(await instance.exec('ls -d /root | wc -l; cat /etc/passwd')).toMatchObject({
      code: 0,
      stdout: '1\nroot:x:0:0:root:/root:/bin/sh\n',
    })
  })

  it('lets root log in to an image that forbids it with a shell', async () => {
    const key = await createKeyPair()
    const files = { '/etc/passwd': 'root:*:0:0:root:/root:/sbin/nologin\n', '/sbin/nologin': '#!/bin/sh\nexit 1\n' }
    const instance = await startInstance(engine, { image: tiny, keys: [key.publicKey], files })
    expect(await ssh(instance, key, 'echo $SHELL')).toMatchObject({ stdout: '/bin/sh\n' })
  })

  it('listens on the loopback alone in a proxy mode', async () => {
    const instance = await startInstance(engine, { image: tiny, mode: 'sshProxy' })
    await expect
      .poll(() => instance.exec('netstat -tln'))
      .toMatchObject({
        stdout: expect.stringMatching(/^tcp +0 +0 127\.0\.0\.1:22 .*LISTEN\s*$/m),
      })
    expect((await instance.exec('netstat -tln')).stdout).not.toMatch(/:::22|0\.0\.0\.0:22/)
  })

  it('fails if no SSH server can listen', async () => {
    const instance = await createInstance(engine, { image: tiny, files: { '/.berth/bin/sshd': '#!/bin/sh\nexit 1\n' } })
    await instance.start()
    await instance.waitForLine('[berth] SSH could not be started')
    await expect.poll(() => instance.inspect('{{.State.Status}} {{.State.ExitCode}}')).toBe('exited 1')
    expect(await instance.logs()).not.toContain(ready)
  })
})

describeWithEngine('before an instance is ready', () => {
  it('runs no code of the image or the renter', async () => {
    const trap = '#!/bin/sh\necho trapped\nsleep 60\n'
    const programs = ['mkdir', 'awk', 'grep', 'touch', 'sh', 'sleep', 'seq', 'chmod', 'dropbear']
    const instance = await createInstance(engine, {
      image: tiny,
      env: {
        LD_PRELOAD: '/evil.so',
        LD_LIBRARY_PATH: '/evil',
        LD_AUDIT: '/evil.so',
        BASH_ENV: '/evil/sh',
        ENV: '/evil/sh',
        PATH: '/evil',
        IFS: 'e',
      },
      files: {
        ...Object.fromEntries(programs.map(name => [`/evil/${name}`, trap])),
        '/evil/libc.so.6': 'no library',
        '/evil.so': 'no library',
        '/etc/ld.so.preload': '/evil.so\n',
        '/bin/sh': trap,
      },
    })
    await instance.start()
    await instance.waitForLine(ready)
    expect(await instance.logs()).toEqual([starting, ready])
    // The loader would complain there about what it cannot load.
    expect((await instance.exec('cat /.berth/state/sshd.log')).stdout).not.toContain('evil')
  })

  it('does not depend on what the renter left behind', async () => {
    const instance = await startInstance(engine, { image: tiny })
    const commands = ['rm -rf /.berth/state /root/.ssh', 'mkfifo /.berth/state /root/.ssh', 'chmod 777 /root']
    await instance.exec(commands.join('; '))
    await instance.stop()
    await instance.start()
    await instance.waitForLine(ready, 2)
  })

  it('does not depend on a changed toolbox, if the driver puts it there again', async () => {
    const instance = await startInstance(engine, { image: tiny })
    const programs = ['busybox', 'dropbear', 'prepare'].map(name => `/.berth/bin/${name}`).join(' ')
    await instance.exec(`rm -rf ${programs} /.berth/lib; ln -s /nowhere /.berth/lib`)
    await instance.stop()
    await instance.putToolbox()
    await instance.start()
    await instance.waitForLine(ready, 2)
  })

  it('does not wait for keys that the driver did not give', async () => {
    const instance = await createInstance(engine, { image: tiny })
    await instance.start()
    await instance.waitForLine(ready)
    await instance.exec('rm -rf /.berth/instance')
    expect(await instance.applyKeys()).toMatchObject({ code: 0, stderr: '' })
  })
})

describeWithEngine('the environment', () => {
  const env = { NAME: 'a  b $HOME "c"', LD_PRELOAD: 'my.so', BERTH_JUPYTER_TOKEN: 'token-of-ours' }

  it('reaches onstart as it was given, without what is meant for the entrypoint', async () => {
    const onStart = 'echo "[$NAME] [$LD_PRELOAD] [$PWD]"; env | grep -c ^BERTH_'
    const instance = await startInstance(engine, { image: tiny, env, onStart })
    await expect.poll(() => instance.logs()).toEqual([starting, ready, '[a  b $HOME "c"] [my.so] [/root]', '0'])
  })

  it('reaches a session only through /etc/environment, which is not evaluated', async () => {
    const key = await createKeyPair()
    const instance = await startInstance(engine, { image: tiny, env, keys: [key.publicKey] })
    const show = 'echo "[$NAME] [$QUOTED] [$EXPORTED] [$CODE] [$LAST] $PATH"; env | grep -c ^BERTH_; ls /tmp'
    const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
    expect((await ssh(instance, key, show)).stdout).toBe(`[] [] [] [] [] ${path}\n0\n`)
    const lines = [
      ...['# a comment', '', 'NAME=a  b $HOME "c"', 'QUOTED="x y"', "  export EXPORTED='z'"],
      ...['CODE=$(touch /tmp/code)`touch /tmp/code`', 'BAD-NAME=1', '=', 'LAST=last line without an end'],
    ]
    await instance.upload({ '/etc/environment': lines.join('\n') })
    expect((await ssh(instance, key, show)).stdout).toBe(
      `[a  b $HOME "c"] [x y] [z] [$(touch /tmp/code)\`touch /tmp/code\`] [last line without an end] ${path}\n0\n`,
    )
  })

  it('is not seen by a session that the driver begins', async () => {
    const instance = await startInstance(engine, { image: tiny, env })
    const session = "env -i TERM=vt100 SSH_ORIGINAL_COMMAND='env; pwd' /.berth/bin/session"
    const { stdout } = await instance.exec(session)
    expect(stdout).toMatch(/^HOME=\/root$/m)
    expect(stdout).toMatch(/^SHELL=\/bin\/sh$/m)
    expect(stdout).toMatch(/^TERM=vt100$/m)
    expect(stdout).toMatch(/\n\/root\n$/)
    expect(stdout).not.toMatch(/NAME=a|BERTH_|SSH_/)
  })

  it('reaches a session after onstart saved it', async () => {
    const key = await createKeyPair()
    const onStart = 'env >> /etc/environment; echo saved'
    const instance = await startInstance(engine, { image: tiny, env: { FOO: 'b ar' }, keys: [key.publicKey], onStart })
    await instance.waitForLine('saved')
    expect((await ssh(instance, key, 'echo "[$FOO] $PWD $HOME"')).stdout).toBe('[b ar] /root /root\n')
  })
})

describeWithEngine('onstart', () => {
  it('is run by bash if the image has it, and does not end the instance', async () => {
    const files = { '/bin/bash': '#!/bin/sh\necho "bash runs $1"\nexec /bin/sh "$@"\n' }
    const instance = await startInstance(engine, { image: tiny, files, onStart: 'echo failing; exit 3' })
    await instance.waitForLine('failing')
    expect(await instance.logs()).toEqual([starting, ready, 'bash runs /.berth/instance/onstart.sh', 'failing'])
    expect(await instance.inspect('{{.State.Status}}')).toBe('running')
  })
})

describeWithEngine('the SSH keys', () => {
  const keysOf = async (instance: Instance) =>
    (await instance.exec('cat /root/.ssh/authorized_keys')).stdout.split('\n').slice(0, -1)

  it('are those of the account and the renter’s own', async () => {
    const [first, second] = [await createKeyPair(), await createKeyPair()]
    const own = 'ssh-ed25519 AAAA own'
    // The last line of this file has no end.
    const files = { '/root/.ssh/authorized_keys': `# mine\n\n${own}` }
    const instance = await startInstance(engine, { image: tiny, keys: [first.publicKey], files })
    expect(await keysOf(instance)).toEqual(['# mine', '', own, first.publicKey])
    await instance.setKeys([second.publicKey, own])
    expect(await instance.applyKeys()).toMatchObject({ code: 0, stderr: '' })
    expect(await keysOf(instance)).toEqual(['# mine', '', own, second.publicKey])
    expect(await ssh(instance, first, 'true')).toMatchObject({ code: 255 })
    expect(await ssh(instance, second, 'true')).toMatchObject({ code: 0 })
    await instance.setKeys([])
    await instance.applyKeys()
    expect(await keysOf(instance)).toEqual(['# mine', '', own])
  })

  it('are applied at the next start if the instance is stopped', async () => {
    const key = await createKeyPair()
    const instance = await startInstance(engine, { image: tiny, keys: ['ssh-ed25519 AAAA old'] })
    await instance.stop()
    await instance.setKeys([key.publicKey])
    await instance.start()
    await instance.waitForLine(ready, 2)
    expect(await keysOf(instance)).toEqual([key.publicKey])
    expect(await ssh(instance, key, 'true')).toMatchObject({ code: 0 })
  })

  it('are complete after many changes at once', async () => {
    const instance = await startInstance(engine, { image: tiny })
    const keys = Array.from({ length: 50 }, (_, index) => `ssh-ed25519 AAAA key-${index}`)
    await instance.setKeys(keys)
    await instance.exec('for i in $(seq 10); do sh /.berth/bin/apply-keys & done; wait')
    expect(await keysOf(instance)).toEqual(keys)
    expect((await instance.exec('ls /.berth/state')).stdout).not.toMatch(/lock|part/)
  })
})

describeWithEngine('the notebook', () => {
  const settings = { BERTH_JUPYTER_DIR: '/work', BERTH_JUPYTER_LAB: '1', BERTH_JUPYTER_TOKEN: 'secret' }
  const flags = '--port=8080 --no-browser --allow-root --ServerApp.allow_remote_access=True'

  it('listens for everybody in the direct mode', async () => {
    const onStart = 'echo "onstart has [$JUPYTER_TOKEN] [$BERTH_JUPYTER_TOKEN]"'
    const options = { image: notebook, mode: 'jupyterDirect', env: settings, onStart } as const
    const instance = await startInstance(engine, options)
    await instance.waitForLine(`jupyter lab --ip=0.0.0.0 ${flags} in /work with token [secret]`)
    await instance.waitForLine('onstart has [] []')
  })

  it('listens on the loopback in the proxy mode', async () => {
    const env = { ...settings, BERTH_JUPYTER_DIR: '', BERTH_JUPYTER_LAB: '0' }
    const instance = await startInstance(engine, { image: notebook, mode: 'jupyterProxy', env })
    await instance.waitForLine(`jupyter notebook --ip=127.0.0.1 ${flags} in /root with token [secret]`)
  })

  it('leaves SSH alone if the image has no jupyter', async () => {
    const key = await createKeyPair()
    const options = { image: tiny, mode: 'jupyterDirect', env: settings } as const
    const instance = await startInstance(engine, { ...options, keys: [key.publicKey] })
    await instance.waitForLine('[berth] the image has no jupyter, so no notebook runs')
    expect(await ssh(instance, key, 'true')).toMatchObject({ code: 0 })
  })
})

describeWithEngine('the life of an instance', () => {
  it('ends with 0 after its processes had time to end', async () => {
    const onStart = 'trap "echo bye; exit 0" TERM; echo begun; while :; do sleep 0.1; done'
    const instance = await startInstance(engine, { image: tiny, onStart })
    await instance.waitForLine('begun')
    const before = Date.now()
    await instance.stop()
    expect(Date.now() - before).toBeLessThan(4_000)
    expect(await instance.logs()).toEqual(expect.arrayContaining([stopping, 'bye']))
    expect(await instance.inspect('{{.State.ExitCode}}')).toBe('0')
  })

  it('ends with 0 even if a process does not end', async () => {
    const instance = await startInstance(engine, { image: tiny, onStart: 'trap "" TERM HUP; echo begun; sleep 600' })
    await instance.waitForLine('begun')
    await instance.stop()
    expect(await instance.inspect('{{.State.ExitCode}}')).toBe('0')
  })

  it('goes on when its SSH server is killed, which comes back', async () => {
    const key = await createKeyPair()
    const instance = await startInstance(engine, { image: tiny, keys: [key.publicKey] })
    await ssh(instance, key, 'true')
    expect(await instance.exec('kill -9 $(cat /.berth/state/sshd.pid)')).toMatchObject({ code: 0 })
    expect(await ssh(instance, key, 'echo back')).toMatchObject({ stdout: 'back\n' })
  })

  it('keeps its host key and its files over a restart', async () => {
    const instance = await startInstance(engine, { image: tiny, onStart: 'echo begun >> /root/starts' })
    const read = async () => (await instance.exec('cat /.berth/state/hostkey.pub /root/starts')).stdout
    await expect.poll(read).toMatch(/^ssh-ed25519 \S+ .*\nbegun\n$/)
    const before = await read()
    await instance.stop()
    await instance.start()
    await instance.waitForLine(ready, 2)
    await expect.poll(read).toBe(`${before}begun\n`)
  })
})
