// The regions of the world, by countries in ISO 3166. A territory belongs to the region where it lies.

export const regions = ['africa', 'asia', 'europe', 'middleEast', 'northAmerica', 'oceania', 'southAmerica'] as const
export type Region = (typeof regions)[number]

const codesByRegion: Record<Region, string> = {
  africa: `AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EH ER ET GA GH GM GN GQ GW IO KE KM LR LS LY MA MG ML MR MU MW MZ NA NE NG
    RE RW SC SD SH SL SN SO SS ST SZ TD TF TG TN TZ UG YT ZA ZM ZW`,
  asia: `AF AM AZ BD BN BT CC CN CX GE HK ID IN JP KG KH KP KR KZ LA LK MM MN MO MV MY NP PH PK SG TH TJ TL TM TW UZ VN`,
  europe: `AD AL AT AX BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD ME MK
    MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK`,
  middleEast: 'AE BH EG IL IQ IR JO KW LB OM PS QA SA SY TR YE',
  northAmerica: `AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR SV SX TC
    TT US VC VG VI`,
  oceania: 'AS AU CK FJ FM GU HM KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TO TV UM VU WF WS',
  southAmerica: 'AQ AR BO BR BV CL CO EC FK GF GS GY PE PY SR UY VE',
}

const countriesByRegion = new Map(regions.map(region => [region, codesByRegion[region].trim().split(/\s+/)]))
const regionsByCountry = new Map(
  [...countriesByRegion].flatMap(([region, countries]) => countries.map(country => [country, region] as const)),
)

/** All countries, each as two capital letters. */
export const countryCodes: readonly string[] = [...regionsByCountry.keys()]

/** The region of a country; null for two letters that are no country. */
export function regionOf(country: string): Region | null {
  return regionsByCountry.get(country) ?? null
}

/** The countries of some regions, each as two capital letters. */
export function countriesOf(some: readonly Region[]): string[] {
  return some.flatMap(region => countriesByRegion.get(region) ?? [])
}
