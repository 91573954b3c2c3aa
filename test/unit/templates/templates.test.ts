import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { emptyEnvironment } from '../../../src/domain/launch/env.ts'
import { parseTemplateCursor, printTemplateCursor } from '../../../src/domain/templates/page.ts'
import { checkTemplateConditions, type TemplateCondition } from '../../../src/domain/templates/search.ts'
import {
  canonicalTemplate,
  checkTemplate,
  type TemplateInput,
  templateLaunchInput,
} from '../../../src/domain/templates/templates.ts'

const secret = { name: 'TOKEN', value: 'hidden', secret: true as const }
const registry = { host: 'ghcr.io', username: 'me', password: 'pass' }
const port = { hostPort: 80, containerPort: 8080, protocol: 'tcp' as const }

function templateInput(parts: Partial<TemplateInput> = {}, launch: TemplateInput['launch'] = {}): TemplateInput {
  return { name: 'mine', public: false, ...parts, launch: { image: 'torch', ...launch } }
}

function issuesOf(given: TemplateInput): string[] {
  try {
    checkTemplate(given)
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'INVALID_INPUT')) throw error
    return error.details.issues.map(({ path, message }) => `${path}: ${message}`)
  }
  return []
}

describe('a template', () => {
  it('keeps the given settings and leaves the rest open', () => {
    const { settings, secrets } = checkTemplate(templateInput())
    expect(settings).toEqual({
      image: 'torch',
      mode: null,
      lab: false,
      directory: null,
      args: [],
      env: [],
      ports: [],
      hostname: null,
      onStart: null,
      registry: null,
      diskGb: null,
      volumeHint: null,
    })
    expect(secrets).toEqual({ registry: null, env: null })
  })

  it('keeps the requested ports without those of its mode, since a rental may pick another mode', () => {
    const environment = { ...emptyEnvironment(), ports: [port, port] }
    expect(checkTemplate(templateInput({}, { mode: 'sshDirect', environment })).settings).toMatchObject({
      mode: 'sshDirect',
      ports: [port],
    })
  })

  it('stores its secrets separately, and passes them to a rental', () => {
    const environment = { ...emptyEnvironment(), env: [secret, { name: 'A', value: '1' }] }
    const { settings, secrets } = checkTemplate(templateInput({}, { registry, environment, pythonUtf8: true }))
    expect(JSON.stringify(settings)).not.toMatch(/hidden|pass/)
    expect(settings.env).toEqual([
      { ...secret, value: '' },
      { name: 'A', value: '1' },
      { name: 'PYTHONUTF8', value: '1' },
    ])
    expect(settings.registry).toEqual({ host: 'ghcr.io', username: 'me' })
    const launch = templateLaunchInput(settings, secrets)
    expect(launch.registry).toEqual(registry)
    expect(launch.environment?.env[0]).toEqual(secret)
  })

  it('gives a rental everything that was saved', () => {
    const given: TemplateInput['launch'] = {
      image: 'torch',
      mode: 'jupyterDirect',
      lab: true,
      directory: '/work',
      args: [],
      environment: { env: [{ name: 'A', value: '1' }], ports: [port], hostname: 'box', volumes: [] },
      onStart: 'go',
      registry,
      diskGb: 20.5,
    }
    const { settings, secrets } = checkTemplate(templateInput({}, given))
    expect(templateLaunchInput(JSON.parse(JSON.stringify(settings)), secrets)).toEqual(given)
  })

  it.each([
    ['no name', templateInput({ name: '' }), 'name: must be given.'],
    ['a long name', templateInput({ name: 'n'.repeat(257) }), 'name: must have at most 256 characters, not 257.'],
    ['a name with NUL', templateInput({ name: 'a\0' }), 'name: must be well-formed Unicode without NUL.'],
    ['no image', templateInput({}, { image: '' }), 'image: must be given.'],
    ['a small disk', templateInput({}, { diskGb: 7 }), 'diskGb: must be a number of GB from 8 to 100000, not 7.'],
    ['arguments in a mode without them', templateInput({}, { args: ['a'] }), 'args: can be given in args mode only.'],
    [
      'a volume',
      templateInput({}, { environment: { ...emptyEnvironment(), volumes: [{ volumeId: 5n, mountPath: '/data' }] } }),
      'volumes: cannot be part of a template. Attach volumes when you rent.',
    ],
    [
      'a hint of size 0',
      templateInput({ volumeHint: { mountPath: '/data', sizeGb: 0 } }),
      'volumeHint.sizeGb: must be a number of GB above 0 and at most 100000, not 0.',
    ],
    [
      'a hint without a path',
      templateInput({ volumeHint: { mountPath: '' } }),
      'volumeHint.mountPath: must be mounted on an absolute path without a colon.',
    ],
    [
      'a secret without a value',
      templateInput({}, { environment: { ...emptyEnvironment(), env: [{ ...secret, value: '' }] } }),
      'env.TOKEN: must have a value, because it is secret.',
    ],
    [
      'public credentials',
      templateInput({ public: true }, { registry }),
      'registry: is secret and cannot be in a public template, which every account can use.',
    ],
    [
      'a public secret',
      templateInput({ public: true }, { environment: { ...emptyEnvironment(), env: [secret] } }),
      'env.TOKEN: is secret and cannot be in a public template, which every account can use.',
    ],
  ])('is refused with %s', (_name, given, issue) => {
    expect(issuesOf(given)).toEqual([issue])
  })

  it('is refused with all its issues at once', () => {
    const environment = { ...emptyEnvironment(), env: [secret], volumes: [{ volumeId: 5n, mountPath: '/data' }] }
    const hint = { mountPath: 'data', sizeGb: Number.NaN }
    const given = templateInput(
      { name: '', public: true, volumeHint: hint },
      { image: '', diskGb: 1, registry, environment },
    )
    const paths = issuesOf(given).map(issue => issue.split(':')[0])
    expect(paths).toEqual([
      ...['name', 'image', 'diskGb', 'volumes', 'volumeHint.mountPath', 'volumeHint.sizeGb', 'registry', 'env.TOKEN'],
    ])
  })

  it('may be public without secrets, with empty credentials', () => {
    const empty = { host: '', username: '', password: '' }
    expect(issuesOf(templateInput({ public: true }, { registry: empty, mode: 'sshDirect' }))).toEqual([])
  })
})

describe('the hashed text', () => {
  const environment = { env: [secret, { name: 'A', value: '1' }], ports: [port], hostname: 'box', volumes: [] }
  const launch = {
    environment,
    registry,
    onStart: 'go',
    diskGb: 20,
    mode: 'jupyterProxy' as const,
    lab: true,
    directory: '/a',
  }
  const hint = { mountPath: '/data', sizeGb: 5 }
  const textOf = (parts: Partial<TemplateInput> = {}, more: TemplateInput['launch'] = {}, account = 1) => {
    const given = templateInput({ volumeHint: hint, ...parts }, { ...launch, ...more })
    return canonicalTemplate(account, given.name, given.public, checkTemplate(given).settings)
  }
  const env = (...variables: (typeof secret | { name: string; value: string })[]) => {
    return { environment: { ...environment, env: variables } }
  }

  it.each([
    ['another password', textOf({}, { registry: { ...registry, password: 'other' } })],
    ['another value of a secret', textOf({}, env({ ...secret, value: 'other' }, { name: 'A', value: '1' }))],
    ['variables in another order', textOf({}, env({ name: 'A', value: '1' }, secret))],
    ['a duplicate port', textOf({}, { environment: { ...environment, ports: [port, port] } })],
  ])('is the same with %s', (_name, text) => {
    expect(text).toBe(textOf())
  })

  it.each([
    ['account', textOf({}, {}, 2)],
    ['name', textOf({ name: 'other' })],
    ['hint', textOf({ volumeHint: { mountPath: '/data' } })],
    ['image', textOf({}, { image: 'ubuntu' })],
    ['disk', textOf({}, { diskGb: 8 })],
    ['commands', textOf({}, { onStart: '' })],
    ['mode', textOf({}, { mode: 'jupyterDirect' })],
    ['interface', textOf({}, { lab: false })],
    ['directory', textOf({}, { directory: '/b' })],
    ['arguments', textOf({}, { mode: 'args', args: ['a'], lab: false, directory: '' })],
    ['user of the registry', textOf({}, { registry: { ...registry, username: 'other' } })],
    ['value of a variable', textOf({}, env(secret, { name: 'A', value: '2' }))],
    ['secrecy of a variable', textOf({}, env({ name: 'TOKEN', value: '' }, { name: 'A', value: '1' }))],
    ['port', textOf({}, { environment: { ...environment, ports: [{ ...port, protocol: 'udp' }] } })],
    ['host name', textOf({}, { environment: { ...environment, hostname: 'other' } })],
  ])('differs with another %s', (_name, text) => {
    expect(text).not.toBe(textOf())
  })

  it('is the same with ports in another order', () => {
    const other = { ...port, containerPort: 9_999 }
    const withPorts = (...ports: (typeof port)[]) => textOf({}, { environment: { ...environment, ports } })
    expect(withPorts(port, other)).toBe(withPorts(other, port))
    expect(withPorts(port, other)).not.toBe(withPorts(port))
  })

  it('differs if the template is public', () => {
    const { settings } = checkTemplate(templateInput())
    expect(canonicalTemplate(1, 'mine', true, settings)).not.toBe(canonicalTemplate(1, 'mine', false, settings))
  })

  it('holds no secret', () => {
    expect(textOf()).not.toMatch(/hidden|pass/)
  })
})

describe('a search for templates', () => {
  it('can have 50 conditions, and no more', () => {
    const conditions = (count: number): TemplateCondition[] =>
      Array.from({ length: count }, () => ({ field: 'id', operator: 'eq', values: [1] }))
    expect(checkTemplateConditions(conditions(50), [])).toHaveLength(50)
    expect(() => checkTemplateConditions(conditions(51), [])).toThrow(
      'filter: has 51 conditions; at most 50 are allowed.',
    )
  })
})

describe('a template cursor', () => {
  const encode = (content: string) => Buffer.from(content).toString('base64url')

  it('is printed from the id of a template, and parsed back to it', () => {
    expect(parseTemplateCursor(printTemplateCursor(7))).toBe(7)
  })

  it.each([
    ['an id that is a string', encode('["v1","templates by id desc","7"]')],
    ['two ids', encode('["v1","templates by id desc",7,8]')],
    ['an id that is not whole', encode('["v1","templates by id desc",7.5]')],
    ['an id that is too large', encode('["v1","templates by id desc",2147483648]')],
    ['nonsense', 'nonsense'],
  ])('is refused if it contains %s', (_content, cursor) => {
    expect(() => parseTemplateCursor(cursor)).toThrow(DomainError)
  })
})
