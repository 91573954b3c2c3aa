// Versions of software and of GPUs: one to four numbers with dots. They are stored and shown exactly as written, and
// compared number by number: 12.10 is newer than 12.9, and 12 is the same version as 12.0.

import type { GpuVendor } from './machines.ts'

/** The version, or undefined if the text is none. */
export function parseVersion(text: string): string | undefined {
  return /^\d{1,9}(?:\.\d{1,9}){0,3}$/.test(text) ? text : undefined
}

/**
 * The numbers that a version is compared by, without zeros at the end. A missing version has none, so it comes before
 * every version. The SQL function version_key computes the same.
 */
export function versionKeyOf(version: string | null): number[] {
  const text = (version ?? '').replace(/(\.0+)+$/, '')
  return text === '' ? [] : text.split('.').map(Number)
}

/** Negative if the first version is older than the second, positive if it is newer. */
export function compareVersions(a: string | null, b: string | null): number {
  const [left, right] = [versionKeyOf(a), versionKeyOf(b)]
  const length = Math.max(left.length, right.length)
  for (let index = 0; index < length; index++) {
    // A number is never below zero, so a part that is missing comes before every part.
    const difference = (left[index] ?? -1) - (right[index] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}

/**
 * The version as REST shows it: a decimal number of its first two parts; 0 for a missing version. 12.10 and 12.1 are one
 * number. The SQL function version_number computes the same.
 */
export function versionNumberOf(version: string | null): number {
  return Number(/^\d+(?:\.\d+)?/.exec(version ?? '')?.[0] ?? 0)
}

/** The compute capability as REST shows it: times 100; 0 without CUDA. */
export function computeCapabilityNumberOf(version: string | null): number {
  return Math.round(versionNumberOf(version) * 100)
}

/** Parses a driver version into one number, as REST clients compare them: 535.86.05 is 535086005. */
export function parseDriverVersion(text: string): number | undefined {
  const [, major, minor = '0', patch = '0'] = /^(\d{1,4})(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?$/.exec(text) ?? []
  if (major === undefined) return undefined
  return Number(major) * 1_000_000 + Number(minor) * 1_000 + Number(patch)
}

/** The number of a stored driver version. The SQL function driver_version_number computes the same. */
export function driverVersionNumberOf(version: string): number {
  const number = parseDriverVersion(version)
  if (number === undefined) throw new Error(`${version} is not a driver version`)
  return number
}

/**
 * Prints the number of a driver version in the form of its vendor: NVIDIA pads the last part to two digits, AMD does
 * not. The number does not say whether a last part of zero was written, so it is always printed: "565.77" becomes
 * "565.77.00".
 */
export function printDriverVersion(version: number, vendor: GpuVendor): string {
  const [major, minor, patch] = [Math.floor(version / 1_000_000), Math.floor(version / 1_000) % 1_000, version % 1_000]
  return `${major}.${minor}.${String(patch).padStart(vendor === 'nvidia' ? 2 : 1, '0')}`
}
