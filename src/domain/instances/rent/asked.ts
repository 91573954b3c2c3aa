import type { LaunchWish } from '../../launch/launch.ts'

type Asked = { launch: LaunchWish } & Record<string, unknown>

/** The same for wishes that ask for the same, however they say it: what is empty or false is absent. */
export function whatIsAsked({ launch, ...wish }: Asked): Record<string, unknown> {
  const { environment, targetState, ...settings } = launch
  const parts = { ...settings, ...environment, targetState: targetState === 'running' ? undefined : targetState }
  const isAsked = (value: unknown) => value && !(Array.isArray(value) && value.length === 0)
  return { ...wish, launch: Object.fromEntries(Object.entries(parts).filter(([, value]) => isAsked(value))) }
}
