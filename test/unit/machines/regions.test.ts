import { describe, expect, it } from 'vitest'
import { countriesOf, regionOf, regions } from '../../../src/domain/machines/regions.ts'

describe('the regions', () => {
  it('have each country once', () => {
    const countries = countriesOf(regions)
    expect(new Set(countries).size).toBe(countries.length)
    expect(countries.filter(country => !/^[A-Z]{2}$/.test(country))).toEqual([])
  })

  it('have every country of ISO 3166', () => {
    // The 249 codes of the standard, and XK, which Kosovo uses.
    expect(countriesOf(regions)).toHaveLength(250)
  })

  it.each([
    ['US', 'northAmerica'],
    ['BR', 'southAmerica'],
    ['SE', 'europe'],
    ['KR', 'asia'],
    ['AE', 'middleEast'],
    ['ZA', 'africa'],
    ['AU', 'oceania'],
    ['ZZ', null],
  ])('have %s in %s', (country, region) => {
    expect(regionOf(country)).toBe(region)
  })
})
