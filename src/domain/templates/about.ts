// The description of a template for people, and the texts as REST clients wrote them. Neither affects a launch.

import type { Issue } from '../errors.ts'
import { textProblem } from '../texts.ts'

export type TemplateAbout = {
  description: string
  readme: string
  readmeVisible: boolean
  /** URLs of pages about the template and about its image. */
  href: string
  repository: string
  /** JSON of a search for offers that suit the template, as REST clients write it. */
  searchFilter: string
}

/** Texts as REST clients wrote them, since they compare what they read with what they sent. */
export type TemplateWritten = {
  /** The part of the image after its last colon. */
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

/** Leaves out empty texts, which keeps them out of the stored settings and of the hash. */
export function compactAbout(
  given: Partial<TemplateAbout>,
  written: TemplateWritten,
): { about?: TemplateAbout; written?: TemplateWritten } {
  const about = { ...emptyAbout, ...omitUndefined(given) }
  const isEmpty = JSON.stringify(about) === JSON.stringify(emptyAbout)
  const texts = omitUndefined(written)
  return {
    ...(isEmpty ? {} : { about }),
    ...(Object.values(texts).some(text => text !== '') ? { written: texts } : {}),
  }
}

export function omitUndefined<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Values
}

/** The image with a separate tag, which replaces the image's own tag. An image with a digest takes no tag. */
export function withTag(image: string | undefined, tag: string | undefined): string | undefined {
  return image && tag && !image.includes('@') ? `${image.replace(/:[^/:]*$/, '')}:${tag}` : image
}

/** The image and its tag as the client wrote them. */
export function splitImageTag(image: string, tag: string | undefined): { image: string; tag: string | undefined } {
  return tag && image.endsWith(`:${tag}`) ? { image: image.slice(0, -tag.length - 1), tag } : { image, tag: undefined }
}
