import type { ImportRow } from '../../../src/domain/machines/import-rows.ts'

/** A row of an import file with the required columns, as texts. */
export function aMachineLine(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    gpuModel: 'RTX 4090',
    numGpus: '2',
    driverVersion: '570.172.08',
    cudaVersion: '12.8',
    pricePerGpuHour: '0.35',
    storagePricePerGbMonth: '0.2',
    listedUntil: '2027-12-31',
    cpuName: 'AMD EPYC 7713',
    cpuCores: '128',
    cpuRamGb: '257.5',
    diskGb: '1800',
    downloadMbps: '900',
    uploadMbps: '800.5',
    publicIp: '203.0.113.7',
    firstPort: '20000',
    lastPort: '20099',
    country: 'SE',
    ...overrides,
  }
}

/** The columns that a row with a new GPU model must have. */
export const newModelColumns = {
  gpuModel: 'RTX 9090',
  gpuVendor: 'nvidia',
  gpuRamMb: '65536',
  gpuMemoryBandwidthGigabytesPerSecond: '2500',
  gpuTflops: '150',
  gpuMaxPowerWatts: '700',
  gpuComputeCapability: '13.1',
}

export function anImport(...lines: Record<string, unknown>[]): ImportRow[] {
  return lines.map((line, index) => ({ place: `line ${index + 1}`, fields: aMachineLine(line) }))
}

/** Prints rows as a spreadsheet does. */
export function printCsv(lines: Record<string, unknown>[], end = '\n', quote = (_: string) => false): string {
  const names = Object.keys(lines[0] ?? {})
  const field = (value: unknown) => {
    const text = String(value ?? '')
    return /[",\r\n]|^\s|\s$/.test(text) || quote(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  return [names, ...lines.map(line => names.map(name => line[name]))]
    .map(row => row.map(field).join(',') + end)
    .join('')
}
