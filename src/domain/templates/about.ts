// What a template says of itself to people, and how it was written. Nothing of it starts anything.

import type { Issue } from '../errors.ts'
import { textProblem } from '../texts.ts'

export type TemplateAbout = {
  description: string
  readme: string
  readmeVisible: boolean
  /** Pages about it, and about its image. */
  href: string
  repository: string
  /** Which offers suit it: a search as REST clients write it, as JSON. */
  searchFilter: string
}

/** How REST clients wrote what is kept otherwise: they compare what they are shown with what they sent. */
export type TemplateWritten = {
  /** The end of the image, behind its last colon. */
  tag?: string | undefined
  envFlags?: string | undefined
  args?: string | undefined
}

export const emptyAbout: TemplateAbout = {
  ...{ description: '', readme: '', readmeVisible: true, href: '', repository: '', searchFilter: '{}' },
}

const maxLengths = { description: 2_048, readme: 50_000, href: 1_024, repository: 1_024, searchFilter: 8_192 }

export function aboutIssues(about: Partial<TemplateAbout>): Issue[] {
  const given = { ...emptyAbout, ...omitUndefined(about) }
  return Object.entries(maxLengths).flatMap(([path, most]) => {
    const message = textProblem(given[path as keyof typeof maxLengths], most)
    return message ? [{ path, message }] : []
  })
}

/** What there is to keep of both: nothing of what says nothing. */
export function compactAbout(
  wished: Partial<TemplateAbout>,
  written: TemplateWritten,
): { about?: TemplateAbout; written?: TemplateWritten } {
  const about = { ...emptyAbout, ...omitUndefined(wished) }
  const saysNothing = JSON.stringify(about) === JSON.stringify(emptyAbout)
  const texts = omitUndefined(written)
  return {
    ...(saysNothing ? {} : { about }),
    ...(Object.values(texts).some(text => text !== '') ? { written: texts } : {}),
  }
}

/** Without what is absent. */
export function omitUndefined<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Values
}

/** The image with a tag that was given apart, in place of one that it has itself. */
export function withTag(image: string | undefined, tag: string | undefined): string | undefined {
  return image && tag && !image.includes('@') ? `${image.replace(/:[^/:]*$/, '')}:${tag}` : image
}

/** The image and its tag as they were written. */
export function splitImageTag(image: string, tag: string | undefined): { image: string; tag: string | undefined } {
  return tag && image.endsWith(`:${tag}`) ? { image: image.slice(0, -tag.length - 1), tag } : { image, tag: undefined }
}
