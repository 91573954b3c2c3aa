// The GPU models of the demo market, by their trade names. Memory, bandwidth, FP32 TFLOPS, power and gpu capability
// are the vendors' figures. Performance and price are typical of such a market, not quotes.

import type { NewGpuModel } from '../src/domain/machines/import-rows.ts'
import type { GpuVendor } from '../src/domain/machines/machines.ts'

type Row = [
  name: string,
  ramMb: number,
  memoryBandwidthGigabytesPerSecond: number,
  tflops: number,
  maxPowerWatts: number,
  computeCapability: string | null,
  dlperf: number,
  dollarsPerHour: number,
  /** How common the model is, relative to the others. */
  weight: number,
]

const homeRows: Row[] = [
  ['GTX 1080 Ti', 11264, 484, 11.3, 250, '6.1', 13, 0.055, 2],
  ['RTX 2080 Ti', 11264, 616, 13.4, 250, '7.5', 26, 0.08, 3],
  ['Titan RTX', 24576, 672, 16.3, 280, '7.5', 30, 0.13, 1],
  ['RTX 3060', 12288, 360, 12.7, 170, '8.6', 20, 0.055, 6],
  ['RTX 3060 Ti', 8192, 448, 16.2, 200, '8.6', 26, 0.065, 3],
  ['RTX 3070', 8192, 448, 20.3, 220, '8.6', 29, 0.075, 4],
  ['RTX 3070 Ti', 8192, 608, 21.7, 290, '8.6', 32, 0.08, 2],
  ['RTX 3080', 10240, 760, 29.8, 320, '8.6', 42, 0.1, 5],
  ['RTX 3080 Ti', 12288, 912, 34.1, 350, '8.6', 47, 0.12, 3],
  ['RTX 3090', 24576, 936, 35.6, 350, '8.6', 50, 0.16, 16],
  ['RTX 3090 Ti', 24564, 1008, 40, 450, '8.6', 55, 0.19, 2],
  ['RTX 4060', 8188, 272, 15.1, 115, '8.9', 31, 0.07, 3],
  ['RTX 4060 Ti', 16380, 288, 22.1, 165, '8.9', 42, 0.1, 5],
  ['RTX 4070', 12282, 504, 29.1, 200, '8.9', 56, 0.12, 4],
  ['RTX 4070 Ti', 12282, 504, 40.1, 285, '8.9', 64, 0.15, 3],
  ['RTX 4070S Ti', 16376, 672, 44.1, 285, '8.9', 70, 0.17, 3],
  ['RTX 4080', 16376, 717, 48.7, 320, '8.9', 79, 0.21, 5],
  ['RTX 4080S', 16376, 736, 52.2, 320, '8.9', 83, 0.23, 4],
  ['RTX 4090', 24564, 1008, 82.6, 450, '8.9', 104, 0.36, 26],
  ['RTX 4090D', 24564, 1008, 73.5, 425, '8.9', 92, 0.31, 3],
  ['RTX 5060 Ti', 16311, 448, 23.7, 180, '12.0', 62, 0.12, 5],
  ['RTX 5070', 12227, 672, 30.9, 250, '12.0', 78, 0.15, 3],
  ['RTX 5070 Ti', 16303, 896, 43.9, 300, '12.0', 105, 0.19, 5],
  ['RTX 5080', 16303, 960, 56.3, 360, '12.0', 128, 0.26, 6],
  ['RTX 5090', 32607, 1792, 104.8, 575, '12.0', 199, 0.48, 22],
]

const rackRows: Row[] = [
  ['Tesla P100', 16384, 732, 9.5, 250, '6.0', 15, 0.08, 1],
  ['Tesla V100', 32768, 897, 15.7, 300, '7.0', 35, 0.19, 4],
  ['Tesla T4', 15360, 320, 8.1, 70, '7.5', 19, 0.11, 3],
  ['Q RTX 6000', 24576, 672, 16.3, 260, '7.5', 29, 0.18, 2],
  ['Q RTX 8000', 49152, 672, 16.3, 260, '7.5', 30, 0.24, 2],
  ['RTX A2000', 12282, 288, 8, 70, '8.6', 18, 0.07, 1],
  ['RTX A4000', 16376, 448, 19.2, 140, '8.6', 30, 0.11, 6],
  ['RTX A5000', 24564, 768, 27.8, 230, '8.6', 41, 0.2, 5],
  ['RTX A6000', 49140, 768, 38.7, 300, '8.6', 53, 0.4, 7],
  ['A10', 23028, 600, 31.2, 150, '8.6', 38, 0.2, 2],
  ['A40', 46068, 696, 37.4, 300, '8.6', 50, 0.35, 4],
  ['RTX 4000Ada', 20475, 360, 26.7, 130, '8.9', 44, 0.18, 2],
  ['RTX 5000Ada', 32760, 576, 65.3, 250, '8.9', 72, 0.41, 2],
  ['RTX 6000Ada', 49140, 960, 91.1, 300, '8.9', 100, 0.62, 5],
  ['L4', 23034, 300, 30.3, 72, '8.9', 38, 0.28, 4],
  ['L40', 46068, 864, 90.5, 300, '8.9', 88, 0.58, 3],
  ['L40S', 46068, 864, 91.6, 350, '8.9', 97, 0.64, 7],
  ['RTX PRO 6000 WS', 97887, 1792, 125, 600, '12.0', 235, 1.05, 4],
  ['A100 PCIE', 81920, 1935, 19.5, 300, '8.0', 118, 0.85, 5],
  ['A100 SXM4', 81920, 2039, 19.5, 400, '8.0', 125, 0.95, 8],
  ['H100 PCIE', 81559, 2000, 51.2, 350, '9.0', 220, 1.78, 4],
  ['H100 NVL', 95830, 3938, 60, 400, '9.0', 245, 1.92, 3],
  ['H100 SXM', 81559, 3350, 66.9, 700, '9.0', 282, 2.05, 10],
  ['H200', 143771, 4800, 66.9, 700, '9.0', 310, 2.55, 6],
  ['B200', 183359, 8000, 80, 1000, '10.0', 520, 3.6, 3],
]

const amdRows: Row[] = [
  ['RX 7900 XTX', 24560, 960, 61.4, 355, null, 61, 0.19, 1],
  ['Instinct MI250X', 131072, 3277, 47.9, 560, null, 130, 1.1, 1],
  ['Instinct MI300X', 196592, 5300, 163.4, 750, null, 330, 1.85, 2],
]

export type DemoModel = {
  gpuModel: NewGpuModel
  dlperf: number
  dollarsPerHour: number
  weight: number
  /** Whether it is built for racks: mostly in data centers, and many to a machine. */
  rack: boolean
}

function toDemoModels(rows: Row[], vendor: GpuVendor, rack: boolean): DemoModel[] {
  return rows.map(
    ([
      name,
      ramMb,
      memoryBandwidthGigabytesPerSecond,
      tflops,
      maxPowerWatts,
      computeCapability,
      dlperf,
      price,
      weight,
    ]) => ({
      gpuModel: {
        name,
        vendor,
        ramMb,
        memoryBandwidthGigabytesPerSecond,
        tflops,
        maxPowerWatts,
        computeCapability,
      },
      dlperf,
      dollarsPerHour: price,
      weight,
      rack,
    }),
  )
}

export const demoModels: DemoModel[] = [
  ...toDemoModels(homeRows, 'nvidia', false),
  ...toDemoModels(rackRows, 'nvidia', true),
  ...toDemoModels(amdRows, 'amd', true),
]
