import type { LaunchInput } from '../../launch/launch.ts'

type InputWithLaunch = { launch: LaunchInput } & Record<string, unknown>

/** Equal for inputs with equal meaning: an empty or false setting counts as absent. */
export function canonicalRequest({ launch, ...input }: InputWithLaunch): Record<string, unknown> {
  const { environment, targetState, ...settings } = launch
  const parts = { ...settings, ...environment, targetState: targetState === 'running' ? undefined : targetState }
  const isGiven = (value: unknown) => value && !(Array.isArray(value) && value.length === 0)
  return { ...input, launch: Object.fromEntries(Object.entries(parts).filter(([, value]) => isGiven(value))) }
}
