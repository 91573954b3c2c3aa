import { cleanUpTab, type Tab } from './clean-up.ts'

/** The tabs after a first rental: templates, bids, volumes, costs, and the removal of everything that the tabs made. */
export const moreTabs: Tab[] = [
  {
    query: `# 8. Template: saves settings for later rentals.
# updateTemplate takes its id and only what changes:
# secrets that you send without a value stay. Jupyter
# is direct: a proxied notebook needs a gateway that
# serves notebooks.
mutation Template {
  createTemplate(
    input: {
      name: "trainer"
      image: "pytorch/pytorch:latest"
      mode: { jupyter: { direct: true, lab: true } }
      diskGb: 20
      env: [
        { name: "EPOCHS", value: "3" }
        { name: "TOKEN", value: "hush", secret: true }
      ]
    }
  ) {
    ... on CreateTemplateSuccess {
      template { id hashId env { name value secret } }
    }
    ... on Error { code message }
    ... on ConflictError { id }
  }
}
`,
  },
  {
    query: `# 9. Best: searches and rents in one step, here with a
# bid and a template. Settings in the request override
# the template's; "sources" says where each came from.
mutation Best($template: ID!) {
  rentBestOffer(
    input: {
      filter: { gpuName: { eq: "RTX 4090" } }
      orderBy: [
        { field: DLPERF_PER_DOLLAR, direction: DESC }
      ]
      # Or onDemand: { maxPricePerHour: "0.8" }
      terms: { interruptible: { bidPerHour: "0.4" } }
      spec: {
        source: { template: { by: { id: $template } } }
        env: [{ name: "EPOCHS", value: "5" }]
      }
    }
  ) {
    ... on RentBestOfferSuccess {
      instance {
        id
        bidPerHour
        launch {
          mode { ssh { direct } jupyter { lab } args { args } }
          sources { image mode diskGb onStart }
          env { name value source }
        }
      }
    }
    ... on Error { code message }
    ... on NoOfferRentedError {
      attempts { offerId failure }
    }
  }
}
`,
    variables: '{ "template": "run Template first" }',
  },
  {
    query: `# 10. Bid: the highest bid gets the GPUs. An outbid
# instance waits and resumes when they are free again.
mutation Bid($instance: ID!) {
  updateInstanceBid(
    input: { id: $instance, bidPerHour: "0.45" }
  ) {
    ... on UpdateInstanceBidSuccess {
      instance { bidPerHour minimumBidPerHour status }
    }
    ... on Error { code message }
    ... on BidTooLowError { hostMinimumBidPerHour }
  }
}
`,
    variables: '{ "instance": "run Best first" }',
  },
  {
    query: `# 11. Storage: lists machines with free disk, the
# cheapest first, and the price of a volume there.
query Storage {
  volumeOffers(first: 5, sizeGb: 50) {
    nodes {
      id
      maxSizeGb
      price(sizeGb: 50) { pricePerHour }
      machine { id country }
    }
  }
}
`,
  },
  {
    query: `# 12. Volume: creates a disk that outlives instances,
# from the first answer of Storage. To attach it to an
# instance on the same machine, add to its spec:
# volumes: [{ source: { volumeId: "vol_1" } }]
mutation Volume($storage: ID!) {
  createVolume(
    input: { offerId: $storage, sizeGb: 50, name: "data" }
  ) {
    ... on CreateVolumeSuccess {
      volume {
        id
        sizeGb
        pricePerHour
        machine { id country }
      }
    }
    ... on Error { code message }
  }
}
`,
    variables: '{ "storage": "run Storage first" }',
  },
  {
    query: `# 13. Costs: shows your credit, how long it lasts, and
# the costs of this month. Use HOUR for hourly buckets.
query Costs {
  viewer {
    account {
      credit
      costPerHour # Total cost per hour.
      runwaySeconds
      # groupBy also takes API_KEY, LABEL, GPU_MODEL, …
      usage(bucket: MONTH, groupBy: [INSTANCE, KIND]) {
        cost
        totals {
          keys { dimension value }
          cost
        }
      }
      ledger(first: 10) {
        nodes {
          kind
          amount
          balanceAfter
          subjectId
          startsAt
          endsAt
          costPerHour
        }
      }
    }
  }
  instances(first: 10) {
    nodes {
      id
      accruedCost
      costPerHour
      costPerHourWhenStopped
    }
  }
}
`,
  },
  cleanUpTab,
]
