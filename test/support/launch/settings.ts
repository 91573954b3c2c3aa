type Mode = { ssh: object | null; jupyter: object | null; args: object | null }
type Named = { name: string; value: string | null; secret: boolean }
type Port = { containerPort: number; hostPort: number; protocol: string }

/** The settings that both inputs and outputs have, as they are read. */
export type ReadSettings = { mode: Mode | null; env: Named[]; ports: Port[] }

/** Settings as inputs take them: what was read, without null modes and without the fields that say where a setting is from. */
export function settingsInput({ mode, env, ports }: ReadSettings) {
  return {
    mode: mode && Object.fromEntries(Object.entries(mode).filter(([, given]) => given !== null)),
    env: env.map(({ name, value, secret }) => ({ name, value, secret })),
    ports: ports.map(({ containerPort, hostPort, protocol }) => ({ containerPort, hostPort, protocol })),
  }
}
