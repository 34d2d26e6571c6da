"""Programs of the paper without a convex form, by descent from many starts. Their answers are marked uncertified."""
